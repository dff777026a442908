/** The source of a footnote: the original beside the sentence it proves. */

import { announce, button, element, fill } from "./dom.js";
import { download, getJson, isAbort } from "./api.js";
import { panel } from "./panel.js";
import { pageViewer } from "./pages.js";
import { showDocument } from "./document.js";
import { textViewer } from "./texts.js";
import { placeOf } from "./words.js";

/**
 * @typedef {object} Span
 * @property {string} document_id
 * @property {string} filename
 * @property {number | null} page
 * @property {number} start
 * @property {number} end
 * @property {string} quote
 */

/**
 * @param {Span} span
 * @param {{origin?: HTMLElement | null, label: string, onPrevious?: (() => void) | null, onNext?: (() => void) | null, onBack?: (() => void) | null}} options
 */
export async function showSource(span, { origin = null, label, onPrevious = null, onNext = null, onBack = null }) {
  const body = element("div", {
    class: "panel-body source",
    tabindex: "0",
    role: "region",
    "aria-label": `${span.filename}, the quoted words marked`,
  });
  const subtitle = element("span", {}, label);
  const steps = Boolean(onPrevious || onNext || label.startsWith("Footnote"));
  const tools = [
    onBack && button("Back to the list", { picture: "previous", only: true, kind: "quiet", onclick: onBack }),
    steps &&
      button("Previous footnote (p)", {
        picture: "previous",
        only: true,
        kind: "quiet",
        disabled: !onPrevious,
        onclick: onPrevious,
      }),
    steps &&
      button("Next footnote (n)", { picture: "next", only: true, kind: "quiet", disabled: !onNext, onclick: onNext }),
  ];
  const signal = panel.show({ title: span.path ? placeOf(span) : span.filename, subtitle, tools, body, origin, label: `Source: ${span.filename}` });
  try {
    const found = await getJson(`/v1/documents/${encodeURIComponent(span.document_id)}`, signal);
    if (signal.aborted) return;
    const paged = found.mime === "application/pdf" && found.pages;
    const viewer = paged ? pageViewer(found, span, signal) : await textViewer(found, span, signal);
    if (signal.aborted) return;
    fill(body, paged && quoteLine(span), viewer, element("footer", { class: "source-foot" }, actions(found, origin)));
    announce(`${label}: ${placeOf(span)}. “${span.quote}”`);
  } catch (error) {
    if (!isAbort(error))
      fill(
        body,
        element(
          "div",
          { class: "trouble" },
          element("p", { class: "failure" }, `${error.message}.`),
          element("p", {}, error.remedy || ""),
        ),
      );
  }
}

function quoteLine(span) {
  return element("blockquote", { class: "quoted", "data-quote": "" }, span.quote.trim());
}

function actions(found, origin) {
  return [
    button("About this document", { kind: "quiet", onclick: () => showDocument(found.id, { origin }) }),
    button("Download", { picture: "download", kind: "quiet", onclick: () => download(found) }),
  ];
}
