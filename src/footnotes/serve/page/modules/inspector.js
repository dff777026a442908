/** How fusion ordered the hits, as a picture: words on the left, meaning on the right, the joined order between. */

import { drawing, element, fill } from "./dom.js";
import { score, shortened } from "./words.js";

const WIDTH = 760;
const ROW = 34;
const TOP = 34;
const BOX = 196;
const COLUMNS = { lexical: 0, fused: (WIDTH - BOX) / 2, dense: WIDTH - BOX };

/**
 * @param {any} found the answer of a search
 * @param {(index: number) => void} onPick
 */
export function inspector(found, onPick) {
  const hits = found.hits.slice(0, 10);
  const said = element("p", { class: "inspector-said small", "aria-live": "off" });
  const places = placesOf(hits);
  const rows = Math.max(hits.length, places.lexical.size, places.dense.size);
  const svg = drawing("svg", { class: "inspector", viewBox: `-2 0 ${WIDTH + 4} ${TOP + rows * ROW}`, role: "group", "aria-label": "How the passages were ranked by words, by meaning, and together" });
  svg.append(...titles(found), ...lines(hits, places), ...boxes(hits, places));
  const groups = /** @type {SVGElement[]} */ ([...svg.querySelectorAll("[data-hit]")]);
  const show = (index) => {
    svg.classList.toggle("choosing", index !== null);
    for (const part of groups) part.classList.toggle("chosen", part.getAttribute("data-hit") === String(index));
    fill(said, index === null ? rest(hits) : describe(hits[index], index));
  };
  for (const part of groups) {
    const index = Number(part.getAttribute("data-hit"));
    part.addEventListener("mouseenter", () => show(index));
    part.addEventListener("mouseleave", () => show(null));
    part.addEventListener("focus", () => show(index));
    part.addEventListener("blur", () => show(null));
    part.addEventListener("click", () => onPick(index));
    part.addEventListener("keydown", (event) => event.key === "Enter" && onPick(index));
  }
  show(null);
  return element("div", { class: "inspector-box" }, element("div", { class: "inspector-scroll" }, svg), said);
}

/** In each leg, the row of every hit: by its rank there, closed up where ranks are missing. */
function placesOf(hits) {
  const order = (leg) => {
    const ranked = hits.map((hit, index) => [hit.scores[leg]?.rank, index]).filter(([rank]) => rank);
    ranked.sort(([one], [other]) => one - other);
    return new Map(ranked.map(([, index], row) => [index, row]));
  };
  return { lexical: order("lexical"), dense: order("dense") };
}

function titles(found) {
  const leg = (name, words) => (found.legs[name]?.status === "ok" ? words : `${words} (${found.legs[name]?.status || "not asked"})`);
  const title = (x, words) => drawing("text", { x: x + BOX / 2, y: 16, "text-anchor": "middle", class: "inspector-title" }, words);
  return [title(COLUMNS.lexical, leg("lexical", "by words")), title(COLUMNS.fused, "together"), title(COLUMNS.dense, leg("dense", "by meaning"))];
}

function middle(row) {
  return TOP + row * ROW + ROW / 2 - 3;
}

function lines(hits, places) {
  const join = (index, from, to, row, target) => {
    const bend = (from + to) / 2;
    return drawing("path", { d: `M${from} ${middle(row)} C${bend} ${middle(row)} ${bend} ${middle(target)} ${to} ${middle(target)}`, class: "inspector-line", "data-hit": index });
  };
  return hits.flatMap((hit, index) => [
    ...(places.lexical.has(index) ? [join(index, COLUMNS.lexical + BOX, COLUMNS.fused, places.lexical.get(index), index)] : []),
    ...(places.dense.has(index) ? [join(index, COLUMNS.dense, COLUMNS.fused + BOX, places.dense.get(index), index)] : []),
  ]);
}

function boxes(hits, places) {
  return hits.flatMap((hit, index) => [
    box(hit, index, COLUMNS.fused, index, index + 1, true),
    ...["lexical", "dense"].filter((leg) => places[leg].has(index)).map((leg) => box(hit, index, COLUMNS[leg], places[leg].get(index), hit.scores[leg].rank, false)),
  ]);
}

function box(hit, index, x, row, rank, main) {
  const name = hit.heading || hit.filename;
  const focus = main ? { tabindex: "0", role: "button", "aria-label": `${rank}. ${hit.filename}, ${name}. ${plain(hit)}` } : { "aria-hidden": "true" };
  return drawing(
    "g",
    { class: main ? "inspector-node main" : "inspector-node", "data-hit": index, transform: `translate(${x} ${TOP + row * ROW})`, ...focus },
    drawing("rect", { width: BOX, height: ROW - 7, rx: 5 }),
    drawing("text", { x: 10, y: 18, class: "inspector-rank" }, rank),
    drawing("text", { x: 32, y: 18 }, shortened(name, 24)),
  );
}

function plain(hit) {
  const leg = (words, found) => (found?.rank ? `${words} rank ${found.rank}, score ${score(found.score)}` : `${words} none`);
  return `${leg("Words", hit.scores.lexical)}; ${leg("meaning", hit.scores.dense)}; together ${score(hit.scores.fused)}`;
}

function describe(hit, index) {
  return [element("strong", {}, `${index + 1}. ${hit.filename}`), hit.heading ? ` · ${hit.heading}` : "", ` — ${plain(hit)}${hit.scores.rerank === null ? "" : `; reranked ${score(hit.scores.rerank)}`}.`];
}

function rest(hits) {
  const both = hits.filter((hit) => hit.scores.lexical?.rank && hit.scores.dense?.rank).length;
  return `${both} of ${hits.length} were listed by both legs. Point at a passage to see its scores.`;
}
