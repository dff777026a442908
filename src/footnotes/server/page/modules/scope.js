/** The scope of a question: as text, and as stored by the server. */

import { catalogue } from "./documents.js";
import { count, t } from "./language.js";

export const MOST_NAMES = 4;

/** @typedef {import("./state.js").Scope} Scope */

/** In a few words. @param {Scope} scope */
export function scopeName({ collections, documents }) {
  const names = documents.length > MOST_NAMES ? [count(documents.length, "document")] : documents.map((one) => one.filename);
  return [...collections, ...names].join(", ");
}

/** The scope of an asked question as text; empty for everything. @param {Scope} scope */
export function scopeWords(scope) {
  const name = scopeName(scope);
  return name ? t("Limited to {name}", { name }) : "";
}

/** The scope of a stored question. @returns {Scope} */
export function scopeIn(filter) {
  const parts = filter.where?.$or || (filter.where ? [filter.where] : []);
  const inside = (key) => parts.flatMap((part) => part[key]?.$in || []);
  return {
    collections: [...(filter.collection ? [filter.collection] : []), ...inside("collection")],
    documents: inside("document_id").map((id) => ({ id, filename: nameOf(id) })),
  };
}

/** The same scope with its documents' current names. @param {Scope} scope @returns {Scope} */
export function renamed({ collections, documents }) {
  return { collections, documents: documents.map(({ id, filename }) => ({ id, filename: catalogue.find(id)?.filename || (catalogue.isLoaded && filename === UNKNOWN ? nameOf(id) : filename) })) };
}

const UNKNOWN = "…";

function nameOf(id) {
  return catalogue.find(id)?.filename || (catalogue.isLoaded ? t("a deleted document") : UNKNOWN);
}
