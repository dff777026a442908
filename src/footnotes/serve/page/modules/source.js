/** The source of a footnote: the original beside the sentence it proves. */

import { announce, button, element, fill } from "./dom.js";
import { finder, linkTo, pageOf } from "./reading.js";
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
 * @param {{origin?: HTMLElement | null, label: string, onPrevious?: (() => void) | null, onNext?: (() => void) | null, onBack?: (() => void) | null, others?: Span[]}} options
 */
export async function showSource(span, { origin = null, label, onPrevious = null, onNext = null, onBack = null, others = [] }) {
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
    const viewer = await readerOf(found, span, signal, others);
    if (signal.aborted) return;
    const paged = found.mime === "application/pdf" && found.pages;
    panel.pin(paged && quoteLine(span), finder(found, signal, (place) => viewer.reveal(place)));
    fill(body, viewer.root, element("footer", { class: "source-foot" }, actions(found, origin, span)));
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

/** Whatever shows a document: with `root`, and `reveal` for a place in it. */
export async function readerOf(found, span, signal, others = []) {
  const own = others.filter((one) => one.document_id === found.id && one !== span);
  if (found.mime !== "application/pdf" || !found.pages) return textViewer(found, span, signal, own);
  const page = span && !span.page ? await pageOf(found, span, signal) : span?.page;
  return pageViewer(found, span && { ...span, page }, signal, own);
}

async function copyLink(found, span, origin) {
  const address = `${location.origin}/${linkTo(found.id, span)}`;
  try {
    await navigator.clipboard.writeText(address);
    announce("The address of the passage is copied.");
    origin.lastChild.textContent = "Copied";
    setTimeout(() => origin.isConnected && (origin.lastChild.textContent = "Copy link"), 2000);
  } catch {
    const { showText } = await import("./showtext.js");
    showText("The address of the passage", address);
  }
}

function actions(found, origin, span) {
  const link = button("Copy link", { picture: "copy", kind: "quiet", onclick: () => copyLink(found, span, link) });
  return [
    button("Read from the start", { kind: "quiet", onclick: () => showDocument(found.id, { origin }) }),
    link,
    button("Download", { picture: "download", kind: "quiet", onclick: () => download(found) }),
  ];
}
