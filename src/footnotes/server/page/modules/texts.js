/** A text beside an answer, by its kind: rendered Markdown, code with line numbers, a table, or plain text. */

import { button, choice, element, fill } from "./dom.js";
import { getJson } from "./api.js";
import { areFramed, cellsOf } from "./cells.js";
import { colourSpans } from "./colours.js";
import { t } from "./language.js";
import { markdownBlocks } from "./markdown.js";
import { pointsIn, unitsOf } from "./offsets.js";
import { wrap } from "./spans.js";
import { unwrapped } from "./words.js";

/** Characters shown on either side of a span; a book is not rendered whole for one sentence. */
const AROUND = 15_000;
/** Code is shown from its first line, so that every line has its number. */
const AROUND_CODE = 400_000;
/** Longer source code has no colours, because no one reads that much at once. */
const COLOURED = 200_000;
const MARKDOWN = new Set(["text/markdown", "text/x-markdown", "text/x-wiki"]);
const TABLES = new Set(["text/csv", "text/tab-separated-values"]);
const SHEET = /spreadsheet|excel/;
const CODE =
  /^(text\/x-(?!markdown|rst)|application\/(json|javascript|xml|x-sh|toml|x-yaml|yaml)|text\/(javascript|css|xml|yaml))/;

/** @typedef {{text: string, start: number, end: number, before: boolean, after: boolean}} Window the shown part */

/**
 * @param {any} found the document
 * @param {import("./source.js").Span} span
 * @param {AbortSignal} signal
 */
export async function textViewer(found, span, signal, others = []) {
  const viewer = new TextViewer(found, signal, others);
  await viewer.reveal(span || { start: 0, end: 0 });
  return viewer;
}

class TextViewer {
  #asWritten = false;

  constructor(found, signal, others) {
    this.found = found;
    this.signal = signal;
    this.others = others;
    this.draw = drawerFor(found);
    this.body = element("div");
    const words = { [markdownText.name]: t("Rendered"), [tableText.name]: t("Table"), [blockText.name]: t("Formatted") }[this.draw.name];
    const as = (plain) => () => ((this.#asWritten = plain), this.#render());
    const wrap = button(t("Wrap lines"), { kind: "quiet", "aria-pressed": "false", onclick: () => wrap.setAttribute("aria-pressed", String(this.body.classList.toggle("wrapped"))) });
    this.root = element(
      "div",
      { class: "text-viewer" },
      this.draw === codeText && wrap,
      words && choice(t("How the text is shown"), { [words]: as(false), [t("As written")]: as(true) }),
      this.body,
    );
  }

  /** @param {number} by one step larger or smaller, or 0 for the usual size */
  zoom(by) {
    this.size = by === 0 ? 1 : Math.max(0.7, Math.min((this.size || 1) * (by > 0 ? 1.15 : 1 / 1.15), 2.5));
    this.body.style.setProperty("--zoom", String(this.size));
  }

  /** Show a place in the text with its context. */
  async reveal(place) {
    this.place = place;
    const known = this.shown && place.start >= this.shown.start && place.end <= this.shown.end;
    if (!known) this.shown = await this.#window(place.start, place.end);
    this.#render();
  }

  async #window(start, end) {
    const shown = await windowAround(this.found, start, end, this.signal);
    if (this.draw === blockText) shown.blocks = await blocksOf(this.found, shown, this.signal);
    return shown;
  }

  #render() {
    const { shown } = this;
    const unit = unitsOf(shown.text);
    const within = ({ start, end }) => ({
      start: unit(Math.max(start - shown.start, 0)),
      end: unit(Math.max(Math.min(end, shown.end) - shown.start, 0)),
    });
    const place = within(this.place);
    const noted = this.others.filter((one) => one.end > shown.start && one.start < shown.end).map(within);
    const draw = this.#asWritten ? plainText : this.draw;
    render(this.body, shown, draw(shown.text, { ...place, noted }, shown.start === 0 ? 1 : null, this.found.mime, shown), {
      back: () => this.#turn(shown.start - AROUND),
      on: () => this.#turn(shown.end),
      quietly: place.start === place.end,
    });
  }

  /** A button for the part of the text before or after the window. */
  async #turn(at) {
    const start = Math.max(0, at);
    this.shown = await this.#window(start + AROUND, start + AROUND);
    this.place = { start, end: start };
    this.#render();
    this.root.scrollIntoView({ block: "start" });
  }
}

/** The browser finds the text direction from the letters, block by block. */
async function blocksOf(found, shown, signal) {
  const path = `/v1/documents/${encodeURIComponent(found.id)}/blocks?start=${shown.start}&end=${shown.end}&limit=10000`;
  return (await getJson(path, signal)).blocks;
}

/** Select how to draw a document. */
function drawerFor(found) {
  if (MARKDOWN.has(found.mime)) return markdownText;
  if (TABLES.has(found.mime) || SHEET.test(found.mime)) return tableText;
  if (CODE.test(found.mime)) return codeText;
  return found.mime === "text/plain" ? plainText : blockText;
}

async function windowAround(found, start, end, signal) {
  const around = CODE.test(found.mime) ? AROUND_CODE : AROUND;
  const from = Math.max(0, start - around);
  const upTo = Math.min(found.characters, end + around);
  const part = await getJson(`/v1/documents/${encodeURIComponent(found.id)}/text?start=${from}&end=${upTo}`, signal);
  return cutAtLines(part.text, from, upTo, found.characters, start);
}

/** A window begins and ends with whole lines, so that tables and Markdown parse correctly. */
function cutAtLines(text, from, upTo, characters, spanStart) {
  let shown = text;
  let start = from;
  if (from > 0) {
    const line = shown.indexOf("\n") + 1;
    const skipped = pointsIn(shown.slice(0, line));
    if (line > 0 && from + skipped <= spanStart) {
      shown = shown.slice(line);
      start = from + skipped;
    }
  }
  return { text: shown, start, end: upTo, before: start > 0, after: upTo < characters };
}

function render(holder, shown, drawn, { back, on, quietly }) {
  const turn = (words, action) =>
    element("p", { class: "cut" }, button(words, { kind: "link", onclick: action }));
  fill(
    holder,
    shown.before && turn(t("Show the text before this"), back),
    drawn,
    shown.after && turn(t("Show the text after this"), on),
  );
  if (!quietly)
    requestAnimationFrame(() => holder.querySelector("mark.current, .marked")?.scrollIntoView({ block: "center" }));
}

const marked = () => element("mark", { class: "current" });
const noted = () => element("mark", { class: "noted" });

function plainText(text, { start, end, noted: others = [] }) {
  const even = unwrapped(text);
  return element("div", { class: "prose plain", dir: "auto" }, pieces(even, 0, { start, end, noted: others }));
}

/** A piece of text with its marked spans; where two meet, the current one wins. */
function pieces(text, base, { start, end, noted: others = [] }) {
  const borders = new Set([0, text.length]);
  const all = [{ start, end }, ...others];
  for (const span of all)
    for (const at of [span.start - base, span.end - base]) if (at > 0 && at < text.length) borders.add(at);
  const ordered = [...borders].sort((one, other) => one - other);
  return ordered.slice(0, -1).map((from, index) => {
    const upTo = ordered[index + 1];
    const inside = (span) => span.start < base + upTo && span.end > base + from;
    const words = text.slice(from, upTo);
    if (end > start && inside(all[0])) return element("mark", { class: "current" }, words);
    return others.some(inside) ? element("mark", { class: "noted" }, words) : words;
  });
}

const LEVELS = ["h2", "h3", "h4", "h5", "h6", "h6"];

/** Word, HTML, slides, mail: rendered from the extracted blocks. */
function blockText(text, place, _, mime, shown) {
  const holder = element("div", { class: "prose" });
  const unit = unitsOf(text);
  const at = (offset) => unit(Math.max(0, offset - shown.start));
  let upTo = 0;
  for (const block of shown.blocks || []) {
    const [from, to] = [at(block.start), at(block.end)];
    if (to <= upTo || !text.slice(from, to).trim() || isMailHead(text, from, to, mime, place)) continue;
    holder.append(setBlock(block, text.slice(from, to), from, place));
    upTo = to;
  }
  return upTo > 0 ? holder : plainText(text, place);
}

/** The lines that are already shown above a message, unless they are searched for. */
function isMailHead(text, from, to, mime, { start, end }) {
  const sought = end > start && start < to && end > from;
  return mime === "message/rfc822" && !sought && /^(From|To|Cc|Date): /.test(text.slice(from, to)) && from < 2000;
}

function setBlock(block, words, from, place) {
  if (block.kind === "heading") {
    const signs = /^#+ +/.exec(words)?.[0].length || 0;
    const name = LEVELS[Math.min(Math.max(block.level, 1), 6) - 1];
    return element(name, { dir: "auto" }, pieces(words.slice(signs), from + signs, place));
  }
  if (block.kind === "table") return tableText(words, shifted(place, from));
  if (block.kind === "code") return element("pre", { tabindex: "0" }, pieces(words, from, place));
  if (block.kind === "list") return listOf(words, from, place);
  return element(block.kind === "quote" ? "blockquote" : "p", { dir: "auto" }, pieces(words, from, place));
}

function shifted({ start, end, noted: others = [] }, by) {
  return { start: start - by, end: end - by, noted: others.map((one) => ({ start: one.start - by, end: one.end - by })) };
}

function listOf(words, from, place) {
  const items = [];
  let offset = from;
  for (const line of words.split("\n")) {
    const sign = /^\s*(?:[-*•]|\d{1,3}[.)]) +/.exec(line)?.[0].length || 0;
    if (line.trim()) items.push(element("li", { dir: "auto" }, pieces(line.slice(sign), offset + sign, place)));
    offset += line.length + 1;
  }
  return element(/^\s*\d/.test(words) ? "ol" : "ul", {}, items);
}

function markdownText(text, { start, end, noted: others = [] }) {
  const front = /^---\r?\n[\s\S]*?\r?\n---\r?\n/.exec(text)?.[0] || "";
  const holder = element("div", { class: "prose" });
  const quoted = end > start && start < front.length;
  if (front)
    holder.append(
      element(
        "pre",
        { class: "front" },
        quoted
          ? plainText(front, { start, end: Math.min(end, front.length) })
          : front.replace(/^---\r?\n|---\s*$/g, "").trim(),
      ),
    );
  const blocks = markdownBlocks(text.slice(front.length), { links: true });
  for (const block of blocks) {
    for (const node of block.nodes) if (node instanceof HTMLElement) node.dir = "auto";
    for (const one of others)
      if (one.end <= start || one.start >= end)
        wrap(block.pieces, one.start - front.length, one.end - front.length, noted);
    for (const mark of wrap(block.pieces, start - front.length, end - front.length, marked))
      mark.closest("tr")?.classList.add("marked");
    for (const node of block.nodes) holder.append(node);
  }
  return holder;
}

/** @param {number | null} firstLine null if the window does not begin with the text */
function codeText(text, { start, end, noted: others = [] }, firstLine, mime) {
  const list = element("ol", { class: "code-lines" });
  const colours = text.length <= COLOURED ? colourSpans(text, mime) : [];
  let offset = 0;
  let next = 0;
  /** A piece of the text with its colours. Callers must go forward. */
  const coloured = (from, upTo) => {
    const pieces = [];
    if (from === upTo) return pieces;
    let at = from;
    while (next < colours.length && colours[next].end <= from) next += 1;
    for (let each = next; each < colours.length && colours[each].start < upTo; each += 1) {
      const first = Math.max(colours[each].start, from);
      const last = Math.min(colours[each].end, upTo);
      pieces.push(text.slice(at, first), element("span", { class: `is-${colours[each].kind}` }, text.slice(first, last)));
      at = last;
    }
    return [...pieces, text.slice(at, upTo)];
  };
  text.split("\n").forEach((line, index) => {
    const upTo = offset + line.length;
    const inside = start < upTo + 1 && end > offset && end > start;
    const from = offset + Math.max(start - offset, 0);
    const to = offset + Math.max(Math.min(end - offset, line.length), from - offset);
    const words = inside
      ? [...coloured(offset, from), element("mark", {}, coloured(from, to)), ...coloured(to, upTo)]
      : coloured(offset, upTo);
    const number = firstLine === null ? "" : firstLine + index;
    list.append(
      element(
        "li",
        { class: inside ? "marked" : others.some((one) => one.start < upTo && one.end > offset) ? "noted" : null },
        element("span", { class: "line-number", "aria-hidden": "true" }, number),
        element("code", {}, words),
      ),
    );
    offset = upTo + 1;
  });
  return list;
}

/** Tables in canonical text; lines between them, such as the name of a sheet, stay lines. */
function tableText(text, { start, end, noted: others = [] }) {
  const lines = text.split("\n");
  const framed = areFramed(lines.filter((line) => line.trim()));
  const rows = lines.map((line) => (isRule(line) ? [] : cellsOf(line, framed)));
  const widest = Math.max(1, ...rows.map((cells) => cells.length));
  const body = element("tbody");
  let offset = 0;
  let headed = false; // whether the table has its first row
  lines.forEach((line, index) => {
    const upTo = offset + line.length;
    const cells = rows[index];
    const lone = cells.length === 1 && widest > 1;
    // A single row after an empty line begins another table.
    if (lone && !lines[index - 1]?.trim()) headed = false;
    if (line.trim() && cells.length > 0) {
      const name = headed || lone ? "td" : "th";
      headed ||= !lone;
      const beside = others.some((one) => one.start < upTo && one.end > offset);
      const inside = start < upTo && end > offset;
      const filler = Array(lone ? 0 : widest - cells.length).fill("");
      body.append(
        element(
          "tr",
          { class: inside ? "marked" : beside ? "noted" : null },
          [...cells, ...filler].map((cell) => element(name, name === "th" ? { scope: "col" } : { colspan: lone ? widest : null }, cell)),
        ),
      );
    }
    offset = upTo + 1;
  });
  return element("div", { class: "table-frame" }, element("table", { class: "data" }, body));
}

/** The separator line below the head of a Markdown table. */
const isRule = (line) => /^[\s|:-]+$/.test(line) && line.includes("-");
