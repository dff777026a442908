/** Keys of the keyboard, and the list of them. */

import { button, element, showDialog } from "./dom.js";

const LIST = [
  ["/", "Go to the question, or to the search"],
  ["n", "Open the next footnote"],
  ["p", "Open the previous footnote"],
  ["Enter", "Ask; with Shift a new line"],
  ["Esc", "Close the source, or stop the answer"],
  ["?", "This list"],
];

/** @param {{focus: () => void, step: (direction: number) => void, escape: () => void}} actions */
export function listenForShortcuts({ focus, step, escape }) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return escape();
    if (writes(event.target)) return undefined;
    const action = { "/": focus, n: () => step(1), p: () => step(-1), "?": showShortcuts }[event.key];
    if (!action) return undefined;
    event.preventDefault();
    return action();
  });
}

function writes(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])"))
  );
}

function showShortcuts() {
  const rows = LIST.flatMap(([keys, words]) => [element("dt", {}, element("kbd", {}, keys)), element("dd", {}, words)]);
  const dialog = showDialog("Keys", element("dl", { class: "shortcuts" }, rows), [
    button("Close", { onclick: () => dialog.close() }),
  ]);
}
