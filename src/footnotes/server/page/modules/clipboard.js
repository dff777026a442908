/** Copies to the clipboard, or shows the text to be copied by hand if there is no clipboard. */

import { announce } from "./dom.js";
import { t } from "./language.js";

const SHOWN = 2000;

/**
 * @param {HTMLElement | null} origin a button that reports success
 * @param {{text: string, rich?: string, said: string, title: string}} what `rich` is HTML, built from elements
 */
export async function copyTo(origin, { text, rich = "", said, title }) {
  try {
    await write(text, rich);
    announce(said);
    const words = origin?.lastChild;
    if (!words || words.nodeType !== Node.TEXT_NODE) return;
    const before = words.textContent;
    words.textContent = t("Copied");
    setTimeout(() => (words.textContent = before), SHOWN);
  } catch {
    // Without a secure origin there is no clipboard.
    const { showText } = await import("./showtext.js");
    showText(title, text);
  }
}

async function write(text, rich) {
  if (!rich || typeof ClipboardItem === "undefined") return navigator.clipboard.writeText(text);
  const blob = (kind, content) => new Blob([content], { type: kind });
  return navigator.clipboard.write([
    new ClipboardItem({ "text/plain": blob("text/plain", text), "text/html": blob("text/html", rich) }),
  ]);
}
