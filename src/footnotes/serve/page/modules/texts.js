/** A text beside an answer, in the form it has: Markdown set, code with its lines, a table with its row, or plain. */

import { choice, element, fill } from "./dom.js";
import { getJson } from "./api.js";
import { colourSpans } from "./colours.js";
import { markdownBlocks } from "./markdown.js";
import { pointsIn, unitsOf } from "./offsets.js";
import { wrap } from "./spans.js";
import { unwrapped } from "./words.js";

/** Characters shown on either side of a span; a book is not laid out whole for one sentence. */
const AROUND = 15_000;
/** Code is shown from its first line, so that every line has its number. */
const AROUND_CODE = 400_000;
/** Longer source is shown without colours: they are for reading, and nobody reads that much at once. */
const COLOURED = 200_000;
const MARKDOWN = new Set(["text/markdown", "text/x-markdown", "text/x-wiki"]);
const TABLES = new Set(["text/csv", "text/tab-separated-values"]);
const SHEET = /spreadsheet|excel/;
const CODE =
  /^(text\/x-(?!markdown|rst)|application\/(json|javascript|xml|x-sh|toml|x-yaml|yaml)|text\/(javascript|css|xml|yaml))/;

/** @typedef {{text: string, start: number, end: number, before: boolean, after: boolean}} Window what is shown of a text */

/**
 * @param {any} found the document
 * @param {import("./source.js").Span} span
 * @param {AbortSignal} signal
 */
export async function textViewer(found, span, signal) {
  const shown = await windowAround(found, span.start, span.end, signal);
  const unit = unitsOf(shown.text);
  const place = { start: unit(span.start - shown.start), end: unit(span.end - shown.start) };
  const draw = drawerFor(found);
  const holder = element("div", { class: "text-viewer" });
  const plain = () => render(holder, shown, plainText(shown.text, place));
  const set = () => render(holder, shown, draw(shown.text, place, shown.start === 0 ? 1 : null, found.mime));
  set();
  const words = { [markdownText.name]: "Rendered", [tableText.name]: "Table" }[draw.name];
  if (words) holder.prepend(choice("How the text is shown", { [words]: set, "As written": plain }));
  return holder;
}

/** Which way to draw a document. */
function drawerFor(found) {
  if (MARKDOWN.has(found.mime)) return markdownText;
  if (TABLES.has(found.mime) || SHEET.test(found.mime)) return tableText;
  if (CODE.test(found.mime)) return codeText;
  return plainText;
}

async function windowAround(found, start, end, signal) {
  const around = CODE.test(found.mime) ? AROUND_CODE : AROUND;
  const from = Math.max(0, start - around);
  const upTo = Math.min(found.characters, end + around);
  const part = await getJson(`/v1/documents/${encodeURIComponent(found.id)}/text?start=${from}&end=${upTo}`, signal);
  return cutAtLines(part.text, from, upTo, found.characters, start);
}

/** A window begins and ends with whole lines, so that tables and Markdown are read rightly. */
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

function render(holder, shown, drawn) {
  const keep = holder.querySelector(":scope > .choice");
  fill(
    holder,
    keep,
    shown.before && element("p", { class: "cut" }, "The text begins before this."),
    drawn,
    shown.after && element("p", { class: "cut" }, "The text goes on after this."),
  );
  requestAnimationFrame(() => holder.querySelector("mark, .marked")?.scrollIntoView({ block: "center" }));
}

const marked = () => element("mark");

function plainText(text, { start, end }) {
  const even = unwrapped(text);
  return element(
    "div",
    { class: "prose plain" },
    even.slice(0, start),
    element("mark", {}, even.slice(start, end)),
    even.slice(end),
  );
}

function markdownText(text, { start, end }) {
  const front = /^---\r?\n[\s\S]*?\r?\n---\r?\n/.exec(text)?.[0] || "";
  const holder = element("div", { class: "prose" });
  const quoted = start < front.length;
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
    for (const mark of wrap(block.pieces, start - front.length, end - front.length, marked))
      mark.closest("tr")?.classList.add("marked");
    for (const node of block.nodes) holder.append(node);
  }
  return holder;
}

/** @param {number | null} firstLine null when the window does not begin with the text */
function codeText(text, { start, end }, firstLine, mime) {
  const list = element("ol", { class: "code-lines" });
  const colours = text.length <= COLOURED ? colourSpans(text, mime) : [];
  let offset = 0;
  let next = 0;
  /** A stretch of the text, its colours on it. Whoever asks goes forward. */
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
        { class: inside ? "marked" : null },
        element("span", { class: "line-number", "aria-hidden": "true" }, number),
        element("code", {}, words),
      ),
    );
    offset = upTo + 1;
  });
  return list;
}

/** Rows of cells parted by ` | `, as tables stand in canonical text; other lines in between stay lines. */
function tableText(text, { start, end }) {
  const body = element("tbody");
  let offset = 0;
  text.split("\n").forEach((line) => {
    const upTo = offset + line.length;
    const inside = start < upTo && end > offset;
    const cells = line.replace(/^\| ?| ?\|$/g, "").split(/ \| /);
    const rule = /^[\s|:-]+$/.test(line) && line.includes("-");
    if (line.trim() && !rule) {
      const name = body.children.length === 0 ? "th" : "td";
      const row =
        cells.length > 1
          ? cells.map((cell) => element(name, name === "th" ? { scope: "col" } : {}, cell))
          : element("td", { colspan: "99", class: "lone" }, line);
      body.append(element("tr", { class: inside ? "marked" : null }, row));
    }
    offset = upTo + 1;
  });
  return element("div", { class: "table-frame" }, element("table", { class: "data" }, body));
}
