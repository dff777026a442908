/** Finds anything by name: views, actions, conversations, documents. */

import { element, fill, showDialog } from "./dom.js";
import { catalogue } from "./documents.js";
import { t } from "./language.js";
import { folderOf } from "./listing.js";

const SHOWN = 12;

/**
 * @param {{words: string, action: () => void}[]} actions
 * @param {{words: string, action: () => void}[]} talks
 * @param {(id: string) => void} onDocument
 */
export function showPalette(actions, talks, onDocument) {
  let now = 0;
  /** @type {{words: string, said?: string, action: () => void}[]} */
  let found = [];
  const field = element("input", {
    type: "text",
    class: "wide",
    autocomplete: "off",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-label": t("Go to"),
    placeholder: t("A view, a conversation, a document"),
  });
  const list = element("ul", { class: "palette", id: "palette-list", role: "listbox", "aria-label": t("Go to") });
  const dialog = showDialog(t("Go to"), element("div", { class: "stack" }, field, list), [], { className: "palette-dialog" });
  const run = (entry) => (dialog.close(), entry.action());
  const mark = () => {
    [...list.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === now)));
    field.setAttribute("aria-activedescendant", `palette-${now}`);
    list.children[now]?.scrollIntoView({ block: "nearest" });
  };
  const draw = () => {
    const words = field.value.trim().toLowerCase();
    const fits = (text) => text.toLowerCase().includes(words);
    const documents = words
      ? catalogue.rows
          .filter((row) => fits(`${row.filename} ${row.path}`))
          .slice(0, SHOWN)
          .map((row) => ({ words: row.filename, said: folderOf(row) || t("Document"), action: () => onDocument(row.id) }))
      : [];
    const named = talks.map((one) => ({ ...one, said: t("Conversation") }));
    found = [...actions, ...named].filter((one) => fits(one.words)).concat(documents).slice(0, SHOWN);
    now = 0;
    fill(
      list,
      found.map((entry, index) =>
        element(
          "li",
          { role: "option", id: `palette-${index}`, onclick: () => run(entry) },
          element("span", { class: "clip grow" }, entry.words),
          entry.said && element("span", { class: "soft small clip" }, entry.said),
        ),
      ),
    );
    mark();
  };
  field.addEventListener("input", draw);
  field.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && found.length > 0) {
      event.preventDefault();
      now = (now + by + found.length) % found.length;
      mark();
    }
    if (event.key === "Enter" && found[now]) (event.preventDefault(), run(found[now]));
  });
  draw();
  field.focus();
}
