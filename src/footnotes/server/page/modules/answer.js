/** The text of an answer with its footnotes, drawn block by block, so that finished blocks do not move. */

import { element } from "./dom.js";
import { t } from "./language.js";
import { markdownBlocks } from "./markdown.js";
import { unitsOf } from "./offsets.js";
import { panel } from "./panel.js";
import { plainWords } from "./plain.js";
import { close as closePopover, explains } from "./popover.js";
import { linkTo } from "./reading.js";
import { lastBefore, wrap } from "./spans.js";
import { placeOf, shortened } from "./words.js";

/**
 * @typedef {object} Citation
 * @property {number} marker
 * @property {[number, number]} answer_span
 * @property {string} document_id
 * @property {string} filename
 * @property {number | null} page
 * @property {number} start
 * @property {number} end
 * @property {string} quote
 * @property {number} support
 */

const WHY_UNSUPPORTED = t("Nothing in your documents supports this sentence.");
const WHY_UNCERTAIN = t("It is not certain that the quoted words support this sentence: read them.");
/** For screen readers, which do not show the dots under a sentence. */
const said = (words) => element("span", { class: "unseen aside" }, words);
const SAID_UNSUPPORTED = t(" (not supported by your documents) ");
const SAID_UNCERTAIN = t(" (not certain) ");

export class AnswerText {
  /** @type {{signature: string, nodes: ChildNode[]}[]} */
  #drawn = [];

  /**
   * @param {HTMLElement} holder
   * @param {(citation: Citation, reference: HTMLElement) => void} onOpen
   */
  constructor(holder, onOpen) {
    this.holder = holder;
    this.onOpen = onOpen;
  }

  /**
   * @param {string} text
   * @param {Citation[]} citations
   * @param {[number, number][]} unsupported
   * @param {[number, number][]} uncertain those with a footnote on which the checks disagree
   */
  draw(text, citations, unsupported, uncertain = []) {
    const unit = unitsOf(text);
    const marks = citations.map((citation) => ({ citation, ...span(text, unit, citation.answer_span) }));
    const doubts = [
      ...unsupported.map((pair) => ({ ...span(text, unit, pair), isUncertain: false })),
      ...uncertain.map((pair) => ({ ...span(text, unit, pair), isUncertain: true })),
    ];
    const blocks = markdownBlocks(text);
    blocks.forEach((block, index) => this.#block(block, index, marks, doubts));
    for (const gone of this.#drawn.splice(blocks.length)) for (const node of gone.nodes) node.remove();
  }

  #block(block, index, marks, doubts) {
    const end = block.start + block.raw.length;
    const touches = (mark) => mark.start < end && mark.end > block.start;
    const ownMarks = marks.filter(touches);
    const ownDoubts = doubts.filter(touches);
    const signature = JSON.stringify([
      block.start,
      block.raw,
      ownMarks.map((m) => [m.citation.marker, m.start, m.end]),
      ownDoubts,
    ]);
    const before = this.#drawn[index];
    if (before?.signature === signature) return;
    decorate(block, ownMarks, ownDoubts, this.onOpen);
    const place = before ? before.nodes[0] : null;
    for (const node of block.nodes) {
      if (node instanceof HTMLElement) node.dir = "auto"; // an answer has its own text direction
      this.holder.insertBefore(node, place);
    }
    if (before) closePopover();
    for (const node of before?.nodes || []) node.remove();
    this.#drawn[index] = { signature, nodes: block.nodes };
  }
}

/** A span in UTF-16 units, without trailing white space. */
function span(text, unit, [start, end]) {
  const from = unit(start);
  const upTo = unit(end);
  return { start: from, end: from + text.slice(from, upTo).trimEnd().length };
}

function decorate(block, marks, doubts, onOpen) {
  for (const doubt of doubts) {
    for (const holder of wrap(block.pieces, doubt.start, doubt.end, () =>
      element("span", { class: doubt.isUncertain ? "unsupported uncertain" : "unsupported", tabindex: "0" }),
    )) {
      explains(holder, () => [element("p", {}, doubt.isUncertain ? WHY_UNCERTAIN : WHY_UNSUPPORTED)]);
    }
    if (doubt.end <= block.start + block.raw.length) lastBefore(block.pieces, doubt.end)?.node.parentElement?.closest(".unsupported")?.after(said(doubt.isUncertain ? SAID_UNCERTAIN : SAID_UNSUPPORTED));
  }
  const end = block.start + block.raw.length;
  for (const mark of marks) {
    wrap(block.pieces, mark.start, mark.end, () =>
      element("span", { class: "supported", "data-marker": mark.citation.marker }),
    );
    if (mark.end <= end) insertReference(block, mark, onOpen);
  }
}

/** The superscript after a sentence; several at one place are in the order of their numbers. */
function insertReference(block, mark, onOpen) {
  const last = lastBefore(block.pieces, mark.end);
  if (!last) return;
  let after = /** @type {Element} */ (last.node.parentElement);
  if (!after.matches(".supported, .unsupported")) return;
  while (after.parentElement?.matches(".supported, .unsupported")) after = after.parentElement;
  while (after.nextSibling instanceof Element && after.nextSibling.classList.contains("reference"))
    after = after.nextSibling;
  after.after(reference(mark.citation, onOpen));
}

function reference(citation, onOpen) {
  const label = t("Footnote {marker}: {place}", { marker: citation.marker, place: placeOf(citation) });
  const link = element(
    "a",
    { href: linkTo(citation.document_id, citation), "aria-label": label, "aria-expanded": "false", "data-marker": citation.marker },
    citation.marker,
  );
  const opens = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return false; // open the passage in a new tab or window
    event.preventDefault();
    onOpen(citation, link);
    return true;
  };
  // By keyboard the focus moves into the reader; by pointer the eyes are there. Screen readers click without one.
  link.addEventListener("keydown", (event) => event.key === "Enter" && opens(event) && panel.enter());
  link.addEventListener("click", (event) => opens(event) && event.detail === 0 && panel.enter());
  explains(link, () => quoteCard(citation));
  return element("sup", { class: "reference" }, link);
}

export function quoteCard(citation) {
  return [
    element("p", { class: "quote" }, `“${shortened(plainWords(citation), 320)}”`),
    element("p", { class: "from" }, placeOf(citation)),
  ];
}

/** One citation per marker, in order: several sentences may share a footnote. */
export function distinct(citations) {
  const byMarker = new Map();
  for (const citation of citations) if (!byMarker.has(citation.marker)) byMarker.set(citation.marker, citation);
  return [...byMarker.values()].sort((one, other) => one.marker - other.marker);
}

/** The answer as Markdown with its footnotes, for the clipboard. */
export function asMarkdown(text, citations, unsupported = []) {
  const unit = unitsOf(text);
  const marks = new Map();
  const add = (pair, words) => {
    const { start, end: last } = span(text, unit, pair);
    const end = start + text.slice(start, last).replace(/\s*\|$/, "").length; // inside the last cell of a row
    marks.set(end, (marks.get(end) || []).includes(words) ? marks.get(end) : [...(marks.get(end) || []), words]);
  };
  for (const citation of citations) add(citation.answer_span, `[^${citation.marker}]`);
  for (const pair of unsupported) add(pair, "[?]");
  let marked = "";
  let begin = 0;
  for (const place of [...marks.keys()].sort((one, other) => one - other)) {
    marked += text.slice(begin, place) + marks.get(place).join("");
    begin = place;
  }
  const notes = distinct(citations).map(
    (citation) => `[^${citation.marker}]: ${placeOf(citation)}: “${citation.quote.replace(/\s+/g, " ").trim()}”`,
  );
  return [
    marked + text.slice(begin),
    notes.join("\n"),
    unsupported.length > 0 ? `[?] ${t("Nothing in the documents supports this.")}` : "",
  ]
    .filter(Boolean)
    .join("\n\n");
}
