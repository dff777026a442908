/** Keyboard shortcuts, and their list. */

import { button, element, showDialog } from "./dom.js";
import { t } from "./language.js";

const LIST = [
  ["/", t("Go to the question, or to the search")],
  ["Esc", t("Leave the field; back to the footnote; close the source; stop the answer")],
  ["n", t("The next footnote, with its source")],
  ["p", t("The previous footnote, with its source")],
  ["Enter", t("Ask; with Shift, a new line; on a footnote, go into its source")],
  ["f", t("Find in the document that is open")],
  ["+ −", t("Larger, smaller")],
  ["c", t("Copy the answer with its footnotes")],
  ["g a", t("Go to the questions; g s to the search, g l to the library")],
  ["Ctrl K", t("Go to anything by its name")],
  ["?", t("This list")],
];
const PATIENCE = 1500;

/**
 * @param {{focus: () => void, step: (direction: number) => void, escape: (inField: boolean) => void, find: () => void, zoom: (by: number) => void, copy: () => void, go: (view: string) => void, palette: () => void}} actions
 */
export function listenForShortcuts({ focus, step, escape, find, zoom, copy, go, palette }) {
  let leading = 0;
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.defaultPrevented) return undefined;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return run(event, palette);
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (event.key === "Escape") return escape(writes(event.target));
    if (writes(event.target)) return undefined;
    const view = Date.now() - leading < PATIENCE ? { a: "ask", s: "search", l: "library" }[event.key] : "";
    leading = event.key === "g" ? Date.now() : 0;
    if (view) return run(event, () => go(view));
    const action = {
      "/": focus,
      n: () => step(1),
      p: () => step(-1),
      f: find,
      "+": () => zoom(1),
      "=": () => zoom(1),
      "-": () => zoom(-1),
      c: copy,
      "?": showShortcuts,
    }[event.key];
    return action ? run(event, action) : undefined;
  });
}

function run(event, action) {
  event.preventDefault();
  return action();
}

function writes(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])"))
  );
}

function showShortcuts() {
  const rows = LIST.flatMap(([keys, words]) => [element("dt", {}, element("kbd", {}, keys)), element("dd", {}, words)]);
  const dialog = showDialog(t("Keys"), element("dl", { class: "shortcuts" }, rows), [
    button(t("Close"), { onclick: () => dialog.close() }),
  ]);
}

/** The focus is never lost: if its element is removed, it moves to the content. */
export function keepFocus() {
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  let soon = 0;
  // Wait a moment: between two controls the focus is briefly nowhere.
  const check = () => {
    clearTimeout(soon);
    soon = setTimeout(() => document.activeElement === document.body && main.focus({ preventScroll: true }));
  };
  const changes = { childList: true, subtree: true, attributeFilter: ["hidden", "disabled"] };
  new MutationObserver(check).observe(document.body, changes);
  document.addEventListener("focusout", check);
  check();
}
