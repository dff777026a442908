/** `@name` in a question adds a collection or a document to the scope. */

import { element, fill } from "./dom.js";
import { catalogue } from "./documents.js";
import { t } from "./language.js";
import { state } from "./state.js";

const SHOWN = 6;
const TYPED = /(^|\s)@([^\s@]{0,60})$/;

/** @param {HTMLTextAreaElement} field @returns {HTMLElement} the list of matches */
export function mentions(field) {
  const list = element("ul", { class: "mentions", id: "mentions", role: "listbox", "aria-label": t("Limit the question to"), hidden: true });
  let found = [];
  let now = 0;
  const typed = () => TYPED.exec(field.value.slice(0, field.selectionStart));
  const close = () => ((list.hidden = true), field.removeAttribute("aria-activedescendant"));
  const mark = () => {
    [...list.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === now)));
    field.setAttribute("aria-activedescendant", `mention-${now}`);
  };
  const take = (entry) => {
    const match = typed();
    const at = field.selectionStart;
    if (match) field.value = field.value.slice(0, at - match[2].length - 1) + field.value.slice(at);
    close();
    entry.choose();
    field.focus();
  };
  const draw = () => {
    const match = typed();
    const words = match ? match[2].toLowerCase() : "";
    found = match ? [...collections(words), ...documents(words)].slice(0, SHOWN) : [];
    list.hidden = found.length === 0;
    now = 0;
    fill(
      list,
      found.map((entry, index) =>
        element(
          "li",
          { role: "option", id: `mention-${index}`, onmousedown: (event) => (event.preventDefault(), take(entry)) },
          element("span", { class: "clip grow" }, entry.words),
          element("span", { class: "soft small" }, entry.said),
        ),
      ),
    );
    if (!list.hidden) mark();
  };
  field.addEventListener("input", draw);
  field.addEventListener("blur", close);
  // Handle keys before the field does: Enter selects here instead of asking.
  field.addEventListener(
    "keydown",
    (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const chooses = event.key === "Enter" || event.key === "Tab";
      if (list.hidden || !(by || chooses || event.key === "Escape")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (by) ((now = (now + by + found.length) % found.length), mark());
      else if (chooses) take(found[now]);
      else close();
    },
    { capture: true },
  );
  return list;
}

function collections(words) {
  return (state.status?.collections || [])
    .filter((row) => row.name.toLowerCase().includes(words) && !state.scope.collections.includes(row.name))
    .map((row) => ({ words: row.name, said: t("Collection"), choose: () => state.toggleCollection(row.name) }));
}

function documents(words) {
  return catalogue.rows
    .filter((row) => row.filename.toLowerCase().includes(words) && !state.scope.documents.some((one) => one.id === row.id))
    .slice(0, SHOWN)
    .map((row) => ({ words: row.filename, said: t("Document"), choose: () => state.toggleDocument(row) }));
}
