/** Ten seconds to undo a deletion: documents are hidden at once, and the request is sent afterwards. */

import { announce, button, element, fill } from "./dom.js";
import { count, t } from "./language.js";

const SECONDS = 10;

/** @type {{timer: number, send: (leaving?: boolean) => void} | null} */
let waiting = null;

/**
 * @param {string} words a report, `Deleted “…”.`
 * @param {{send: (leaving: boolean) => void, undo: () => void}} actions `send` also runs when the page is left
 */
export function withUndo(words, { send, undo }) {
  finish();
  const toast = element("div", { class: "toast" });
  const close = () => {
    clearTimeout(own.timer);
    removeEventListener("pagehide", leave);
    toast.remove();
    if (waiting === own) waiting = null;
  };
  const leave = () => own.send(true);
  const own = {
    send: (leaving = false) => (close(), send(leaving)),
    timer: setTimeout(() => own.send(), SECONDS * 1000),
  };
  waiting = own;
  addEventListener("pagehide", leave);
  const back = button(t("Undo"), {
    onclick: () => {
      close();
      undo();
      announce(t("Undone."));
    },
  });
  fill(toast, element("span", {}, words), back);
  document.getElementById("main")?.append(toast);
  announce(`${words} ${t("It can be undone for {seconds}.", { seconds: count(SECONDS, "second") })}`);
}

/** Send the pending deletion now, because another one replaces it. */
export function finish() {
  waiting?.send();
}
