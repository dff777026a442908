/** Exports of an answer or a conversation. */

import { button, element, showDialog } from "./dom.js";
import { distinct } from "./answer.js";
import { saveFile } from "./api.js";
import { t } from "./language.js";
import { placeOf } from "./words.js";

/** An answer as HTML for a word processor: built from elements, and serialised by the browser. */
export function asRichText(body, citations) {
  const holder = element("div");
  for (const node of body.childNodes) holder.append(node.cloneNode(true));
  for (const one of holder.querySelectorAll(".unseen")) one.replaceWith(` [${(one.textContent || "").trim().replace(/^[(（]|[)）]$/g, "")}]`);
  for (const one of holder.querySelectorAll(".reference")) one.replaceWith(element("sup", {}, one.textContent));
  for (const one of holder.querySelectorAll("span")) one.replaceWith(...one.childNodes);
  for (const one of holder.querySelectorAll("*"))
    for (const name of one.getAttributeNames()) if (!["colspan", "start"].includes(name)) one.removeAttribute(name);
  const notes = distinct(citations).map((citation) =>
    element("p", {}, element("sup", {}, citation.marker), ` ${placeOf(citation)}: “${citation.quote.replace(/\s+/g, " ").trim()}”`),
  );
  if (notes.length > 0) holder.append(element("hr"), ...notes);
  return new XMLSerializer().serializeToString(holder);
}

/** Export as Word, Markdown or print. @param {string} conversation its id */
export function showExport(conversation) {
  const save = (format) => async () => {
    dialog.close();
    await saveFile(`/v1/conversations/${encodeURIComponent(conversation)}/export?format=${format}`, `${document.title.replace(/ · Footnotes$/, "")}.${format}`);
  };
  const print = () => (dialog.close(), setTimeout(() => globalThis.print()));
  const dialog = showDialog(
    t("Export this conversation"),
    element("p", { class: "soft" }, t("With all its questions, answers and footnotes.")),
    [
      button(t("Cancel"), { onclick: () => dialog.close() }),
      button(t("Print, or save as PDF"), { onclick: print }),
      button("Markdown", { onclick: save("md") }),
      button("Word", { kind: "primary", onclick: save("docx") }),
    ],
  );
}
