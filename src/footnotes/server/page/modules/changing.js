/** Actions on documents: rename, move, tag, reindex, and delete with ten seconds to undo it. */

import { announce, button, element, showDialog } from "./dom.js";
import { patchJson, remove } from "./api.js";
import { catalogue } from "./documents.js";
import { ask } from "./forms.js";
import { jobs } from "./jobs.js";
import { count, t } from "./language.js";
import { panel } from "./panel.js";
import { state } from "./state.js";
import { refreshStatus } from "./status.js";
import { withUndo } from "./undo.js";
import { shortened } from "./words.js";

/** @typedef {{id: string, filename: string, collection?: string, tags?: string[]}} Some */

const AT_ONCE = 4;
const path = (found) => `/v1/documents/${encodeURIComponent(found.id)}`;

/** Hide documents at once, and delete them when the time to undo is over. @param {Some[]} found */
export function deleteDocuments(found, onUndo = () => {}) {
  const ids = found.map((one) => one.id);
  const scope = state.scope;
  catalogue.hide(ids, true);
  state.setScope({ ...scope, documents: scope.documents.filter((one) => !ids.includes(one.id)) });
  panel.close();
  const words = found.length === 1 ? shortened(found[0].filename, 40) : count(found.length, "document");
  withUndo(t("Deleted {name}.", { name: words }), {
    undo: () => (catalogue.hide(ids, false), state.setScope(scope), onUndo()),
    send: async (leaving) => {
      const failed = await each(found, (one) => remove(path(one), { keepalive: leaving }).catch((error) => (error.status === 404 ? null : Promise.reject(error))));
      catalogue.hide(ids, false);
      state.changed("documents");
      refreshStatus();
      if (failed) trouble(t("Not everything was deleted"), failed);
    },
  });
}

/** Run an action for each document, a few at a time. Returns the first failure. */
async function each(found, action) {
  const waiting = [...found];
  let failure = null;
  const run = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      try {
        await action(one);
      } catch (error) {
        failure ||= error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return failure;
}

function trouble(title, error) {
  const dialog = showDialog(title, element("p", {}, `${error.message}. ${error.remedy || ""}`), [
    button(t("Close"), { onclick: () => dialog.close() }),
  ]);
}

/** @param {Some[]} found @param {any} change */
async function changeAll(found, change, words) {
  const failed = await each(found, async (one) => jobs.take(await patchJson(path(one), change(one))));
  if (failed) throw failed;
  announce(words);
}

export function renameDocument(found) {
  const name = element("input", { id: "new-name", class: "wide", required: true, maxlength: "200", value: found.filename });
  ask(t("Rename"), [element("label", { for: "new-name" }, t("Name")), name], t("Rename"), () =>
    changeAll([found], () => ({ filename: name.value.trim() }), t("Renamed to {name}.", { name: name.value.trim() })),
  );
  const dot = found.filename.lastIndexOf(".");
  name.setSelectionRange(0, dot > 0 ? dot : found.filename.length);
}

export function moveDocuments(found) {
  const names = (state.status?.collections || []).map((row) => row.name);
  const field = element("input", { id: "new-collection", class: "wide", required: true, maxlength: "200", list: "move-names" });
  ask(
    t("Move {documents}", { documents: count(found.length, "document") }),
    [
      element("label", { for: "new-collection" }, t("To the collection")),
      field,
      element("datalist", { id: "move-names" }, names.map((name) => element("option", { value: name }))),
      element("p", { class: "small soft" }, t("A new name creates a collection.")),
    ],
    t("Move"),
    () => moveTo(found, field.value.trim()),
  );
}

export async function moveTo(found, collection) {
  const others = found.filter((one) => one.collection !== collection);
  await changeAll(others, () => ({ collection }), t("Moving {documents}.", { documents: count(others.length, "document") }));
}

export function tagDocuments(found) {
  const shared = (found[0].tags || []).filter((tag) => found.every((one) => one.tags?.includes(tag)));
  const field = element("input", { id: "tags", class: "wide", maxlength: "1000", value: shared.join(", ") });
  ask(
    t("Tags of {documents}", { documents: count(found.length, "document") }),
    [element("label", { for: "tags" }, t("Tags, separated by commas")), field],
    t("Save"),
    () => {
      const tags = [...new Set(field.value.split(",").map((tag) => tag.trim()).filter(Boolean))];
      const own = (one) => [...(one.tags || []).filter((tag) => !shared.includes(tag)), ...tags];
      return changeAll(found, (one) => ({ tags: [...new Set(own(one))] }), t("Tagged."));
    },
  );
}

export function reindexDocuments(found) {
  return changeAll(found, () => ({ reindex: true }), t("Reindexing {documents}.", { documents: count(found.length, "document") })).catch(
    (error) => trouble(t("Not everything is reindexed"), error),
  );
}

/** Let rows be dropped on a collection. @param {HTMLElement} target */
export function acceptDocuments(target, collection) {
  const ours = (event) => event.dataTransfer?.types.includes("text/x-footnotes");
  target.addEventListener("dragover", (event) => ours(event) && (event.preventDefault(), target.classList.add("over")));
  target.addEventListener("dragleave", () => target.classList.remove("over"));
  target.addEventListener("drop", (event) => {
    target.classList.remove("over");
    if (!ours(event)) return;
    event.preventDefault();
    const dropped = JSON.parse(event.dataTransfer.getData("text/x-footnotes"));
    moveTo(dropped, collection).catch((error) => trouble(t("Not everything was moved"), error));
  });
}
