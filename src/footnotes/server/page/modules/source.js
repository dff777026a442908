/** The source of a footnote: the original beside the sentence it supports. */

import { announce, button, element, fill } from "./dom.js";
import { readerOf } from "./reader.js";
import { finder, linkTo } from "./reading.js";
import { download, getJson, isAbort } from "./api.js";
import { copyTo } from "./clipboard.js";
import { t } from "./language.js";
import { watchSelection } from "./selecting.js";
import { panel } from "./panel.js";
import { showDocument } from "./document.js";
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
 * @param {{origin?: HTMLElement | null, label: string, onPrevious?: (() => void) | null, onNext?: (() => void) | null, onBack?: (() => void) | null, others?: Span[], proves?: string}} options
 */
export async function showSource(span, { origin = null, label, onPrevious = null, onNext = null, onBack = null, others = [], proves = "" }) {
  const body = element("div", {
    class: "panel-body source",
    tabindex: "0",
    role: "region",
    "aria-label": t("{name}, the quoted words marked", { name: span.filename }),
  });
  const subtitle = element("span", {}, label);
  const steps = Boolean(proves);
  const tools = [
    onBack && button(t("Back to the list"), { picture: "previous", only: true, kind: "quiet", onclick: onBack }),
    steps &&
      button(t("Previous footnote (p)"), {
        picture: "previous",
        only: true,
        kind: "quiet",
        disabled: !onPrevious,
        onclick: onPrevious,
      }),
    steps &&
      button(t("Next footnote (n)"), { picture: "next", only: true, kind: "quiet", disabled: !onNext, onclick: onNext }),
  ];
  const signal = panel.show({ title: span.path ? placeOf(span) : span.filename, subtitle, tools, body, origin, label: t("Source: {name}", { name: span.filename }), proves });
  /** @type {any} */
  let viewer = null;
  // Before the fetch, so that nothing moves when the text arrives.
  const seek = finder(span.document_id, signal, (place) => viewer?.reveal(place));
  panel.pin(span.page && quoteLine(span, proves), seek);
  try {
    const found = await getJson(`/v1/documents/${encodeURIComponent(span.document_id)}`, signal);
    if (signal.aborted) return;
    viewer = await readerOf(found, span, signal, others);
    if (signal.aborted) return;
    panel.viewer = viewer;
    fill(body, viewer.root, element("footer", { class: "source-foot" }, actions(found, origin, span)));
    watchSelection(body, found, signal);
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

function quoteLine(span, proves) {
  const same = proves.trim() === span.quote.trim();
  return element("blockquote", { class: same ? "quoted same" : "quoted", "data-quote": "" }, span.quote.trim());
}

function copyLink(found, span, origin) {
  const address = `${location.origin}/${linkTo(found.id, span)}`;
  return copyTo(origin, { text: address, said: t("The address of the passage is copied."), title: t("The address of the passage") });
}

function actions(found, origin, span) {
  const link = button(t("Copy link"), { picture: "copy", kind: "quiet", onclick: () => copyLink(found, span, link) });
  return [
    button(t("Read from the start"), { kind: "quiet", onclick: () => showDocument(found.id, { origin }) }),
    link,
    button(t("Download"), { picture: "download", kind: "quiet", onclick: () => download(found) }),
  ];
}
