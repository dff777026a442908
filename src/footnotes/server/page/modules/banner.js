/** The status in the corner: one sentence if something is wrong, with the remedy. */

import { element, fill } from "./dom.js";
import { state } from "./state.js";
import { count, t } from "./language.js";

export function watchBanner(holder) {
  const draw = () => {
    const said = message();
    holder.hidden = !said;
    if (said) fill(holder, element("strong", {}, said[0]), element("span", {}, said[1]));
  };
  for (const name of ["status", "legs", "online"]) state.on(name, draw);
}

/** @returns {[string, string] | null} the problem and its remedy */
function message() {
  if (!state.online) return [t("The server does not answer."), t("Check that it runs; the page tries again by itself.")];
  const { status, legs } = state;
  // The answer itself reports a failed model or reranker; they are not legs of the search.
  const failed = ["lexical", "dense"].map((name) => [name, legs?.[name]]).find(([, leg]) => leg?.status === "failed");
  if (failed)
    return [
      `${failed[0] === "dense" ? t("Search by meaning is down") : t("Search by words is down")}${failed[1].reason ? ` (${failed[1].reason})` : ""}.`,
      t("Until it is back, answers use only the other leg."),
    ];
  if (status?.waiting > 0)
    return [
      t("Vectors of {documents} are still being made.", { documents: count(status.waiting, "document") }),
      t("They are already found by their words, and soon by their meaning."),
    ];
  if (status && status.embedder !== status.configured_embedder && state.documents() > 0)
    return [t("The library was embedded by {model}.", { model: status.embedder }), t("Reindex it to use {model}.", { model: status.configured_embedder })];
  if (status?.outdated > 0)
    return [
      t("Made by an older version, chunker or model: {documents}.", { documents: count(status.outdated, "document") }),
      t("They can be searched. `footnotes reindex --outdated` rebuilds them."),
    ];
  return null;
}
