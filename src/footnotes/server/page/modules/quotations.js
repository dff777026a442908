/** Extractive answers: each quotation in its own card, under its headings. */

import { AnswerText } from "./answer.js";
import { areFramed, cellsOf } from "./cells.js";
import { element } from "./dom.js";
import { pointsIn, unitsOf } from "./offsets.js";
import { isMarkdown } from "./plain.js";
import { placeOf } from "./words.js";

const LIST_SIGN = /^\s*(?:[-*•]|\d{1,3}[.)])\s+$/;

export class Quotations {
  /** @type {{signature: string, root: HTMLElement}[]} */
  #cards = [];

  /**
   * @param {HTMLElement} holder
   * @param {(citation: any, reference: HTMLElement) => void} onOpen
   */
  constructor(holder, onOpen) {
    this.holder = holder;
    this.onOpen = onOpen;
    this.lead = element("p", { class: "lead-note", dir: "auto" });
  }

  /** @param {any[]} hits the search results, which have the headings */
  draw(text, citations, hits) {
    const lead = leadOf(text, citations);
    this.lead.textContent = text.slice(0, lead).trim();
    if (lead > 0 && !this.lead.isConnected) this.holder.prepend(this.lead);
    if (lead === 0) this.lead.remove();
    const cards = cardsOf(text, citations, hits, lead);
    cards.forEach((card, index) => this.#card(card, index));
    for (const gone of this.#cards.splice(cards.length)) gone.root.remove();
  }

  #card(card, index) {
    const signature = JSON.stringify(card);
    const before = this.#cards[index];
    if (before?.signature === signature) return;
    const body = element("div");
    const root = element(
      "figure",
      { class: "quotation" },
      element(
        "figcaption",
        {},
        element("span", { class: "grow", dir: "auto" }, card.headings.join(" › ")),
        element("span", {}, placeOf(card.citations[0])),
      ),
      body,
    );
    new AnswerText(body, this.onOpen).draw(card.text, card.citations, []);
    if (before) before.root.replaceWith(root);
    else this.holder.append(root);
    this.#cards[index] = { signature, root };
  }
}

/** The end of the text before the first quotation: a remark on the passages that belongs to none. */
function leadOf(text, citations) {
  if (citations.length === 0) return 0;
  const first = Math.min(...citations.map((one) => one.answer_span[0]));
  const cut = cutBefore(text, unitsOf(text)(first));
  return cut > 0 && /\n\s*\n$/.test(text.slice(0, cut)) ? cut : 0;
}

/** Split the answer where the document or the section changes, never inside a table or code. */
function cardsOf(text, citations, hits, lead) {
  const characters = [...text];
  const unit = unitsOf(text);
  const cards = [];
  for (const citation of [...citations].sort((one, other) => one.answer_span[0] - other.answer_span[0])) {
    const headings = headingsOf(citation, hits);
    const place = JSON.stringify([citation.document_id, headings]);
    const last = cards.at(-1);
    const cut = last && place !== last.place ? cutBefore(text, unit(citation.answer_span[0])) : -1;
    if (last && cut < 0) last.citations.push(citation);
    else cards.push({ place, headings, citations: [citation], start: pointsIn(text.slice(0, last ? cut : lead)) });
  }
  return cards.map((card, index) => {
    const end = cards[index + 1]?.start ?? characters.length;
    const { text: shown, before } = asTable(characters.slice(card.start, end).join(""), card.citations[0], hits);
    const moved = (at) => at - card.start + before;
    return {
      headings: card.headings,
      text: shown,
      citations: card.citations.map((one) => ({ ...one, answer_span: one.answer_span.map(moved) })),
    };
  });
}

/** Add the table's head to a single row, to explain its cells. */
function asTable(text, citation, hits) {
  const row = text.trim();
  if (/\n/.test(row) || !/ \| /.test(row)) return { text, before: 0 };
  const framed = isMarkdown(citation.filename) && areFramed([row]);
  const cells = cellsOf(row, framed).length;
  const head = headOf(citation, hits, { cells, framed }) || `|${" |".repeat(cells)}`;
  const begin = `${head}\n|${" --- |".repeat(cells)}\n${framed ? "" : "| "}`;
  return { text: framed ? begin + row : `${begin}${row} |`, before: pointsIn(begin) };
}

/** The first row of the table of a quoted row, if it has as many cells. */
function headOf(citation, hits, { cells, framed }) {
  const hit = hitOf(citation, hits);
  if (!hit || hit.start > citation.start) return "";
  const lines = [...hit.text].slice(0, citation.start - hit.start).join("").split("\n").slice(0, -1);
  const isRow = (line) => line.includes("|");
  const first = lines.findLastIndex((line) => !isRow(line)) + 1;
  const head = isRow(lines[first] || "") ? cellsOf(lines[first], framed) : [];
  return head.length === cells ? `| ${head.join(" | ")} |` : "";
}

/** The beginning of a quotation's line or sentence, or -1 if nothing may be cut. */
function cutBefore(text, at) {
  const line = text.lastIndexOf("\n", at - 1) + 1;
  const within = (text.slice(0, at).match(/^```/gm) || []).length % 2 === 1;
  if (within || /^\s*\|/.test(text.slice(line, at + 1))) return -1;
  return LIST_SIGN.test(text.slice(line, at)) ? line : at;
}

/** The passage that contains a quotation. */
function hitOf(citation, hits) {
  const own = hits.filter((hit) => hit.document_id === citation.document_id);
  return own.find((hit) => hit.start <= citation.start && citation.end <= hit.end) || own[0];
}

function headingsOf(citation, hits) {
  const hit = hitOf(citation, hits);
  const headings = hit?.headings?.length > 0 ? hit.headings : [hit?.title || ""];
  return headings.filter((words) => words && words !== citation.filename);
}
