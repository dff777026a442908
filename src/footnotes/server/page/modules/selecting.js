/** Selected words in a document: ask about them, copy them with their place, save them as a note. */

import { announce, button, element, fill } from "./dom.js";
import { postJson } from "./api.js";
import { copyTo } from "./clipboard.js";
import { jobs } from "./jobs.js";
import { t } from "./language.js";
import { state } from "./state.js";
import { shortened } from "./words.js";

const NOTES = "notes";
const LONGEST = 2000;

/**
 * @param {HTMLElement} body the text being read
 * @param {any} found the document
 * @param {AbortSignal} signal
 */
export function watchSelection(body, found, signal) {
  const bar = element("div", { class: "selecting", role: "toolbar", "aria-label": t("The selected words"), hidden: true });
  body.append(bar);
  const show = () => {
    const selection = getSelection();
    const words = selection && selection.rangeCount > 0 && body.contains(selection.anchorNode) ? selection.toString().trim() : "";
    bar.hidden = words.length < 2;
    if (bar.hidden || !selection) return;
    fill(bar, tools(words, placeOfSelection(selection, found), found));
    const [line, frame] = [selection.getRangeAt(0).getBoundingClientRect(), body.getBoundingClientRect()];
    const above = line.top - frame.top + body.scrollTop - 44;
    bar.style.top = `${above > body.scrollTop ? above : line.bottom - frame.top + body.scrollTop + 8}px`;
    bar.style.left = `${Math.max(8, Math.min(line.left - frame.left, frame.width - bar.offsetWidth - 16))}px`;
  };
  document.addEventListener("selectionchange", show, { signal });
}

/** `handbook.pdf, p. 4` */
function placeOfSelection(selection, found) {
  const page = selection.anchorNode?.parentElement?.closest("[data-page]")?.getAttribute("data-page");
  return page ? `${found.filename}, ${t("p. {page}", { page })}` : found.filename;
}

function tools(words, place, found) {
  const quoted = `“${words.replace(/\s+/g, " ")}” (${place})`;
  const copy = button(t("Copy with reference"), {
    kind: "quiet",
    onclick: () => copyTo(copy, { text: quoted, said: t("Copied with its reference."), title: t("The words with their reference") }),
  });
  return [
    button(t("Ask about it"), { kind: "quiet", onclick: () => ask(words, found) }),
    copy,
    state.may("write") && button(t("Save as a note"), { kind: "quiet", onclick: () => save(words, place, found) }),
  ];
}

function ask(words, found) {
  state.setScope({ documents: [{ id: found.id, filename: found.filename }] });
  location.hash = "#/ask";
  const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("question"));
  field.value = `“${shortened(words, 300)}” – `;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}

async function save(words, place, found) {
  const text = `> ${words.slice(0, LONGEST).replace(/\n+/g, "\n> ")}\n\n${place}\n`;
  const name = shortened(words, 50).replace(/[\\/:*?"<>|#]/g, " ").trim();
  try {
    const { jobs: made } = await postJson("/v1/documents", {
      text,
      filename: `${name || "note"}.md`,
      collection: NOTES,
      metadata: { note_of: found.id },
    });
    for (const job of made) jobs.take(job);
    announce(t("Saved as a note in the collection {name}.", { name: NOTES }));
    getSelection()?.removeAllRanges();
  } catch (error) {
    announce(`${error.message}. ${error.remedy || ""}`);
  }
}
