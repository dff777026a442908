/** A picture of the fusion: lexical ranks on the left, dense ranks on the right, the fused order between them. */

import { drawing, element, fill } from "./dom.js";
import { score, shortened } from "./words.js";
import { t } from "./language.js";

const ROW = 34;
const TOP = 34;
/** Drawn for the available width instead of scaled down, so its words stay readable on a phone. */
const SIZES = { wide: { width: 760, box: 196, letters: 24 }, narrow: { width: 430, box: 118, letters: 11 } };
const NARROW_BELOW = 600;
/** Beyond this width its words would be larger than the text around it. */
const LARGEST = 1.1;

/**
 * @param {any} found the response of a search
 * @param {(index: number) => void} onPick
 * @param {number} room the available width in pixels
 */
export function inspector(found, onPick, room) {
  const { width, box, letters } = room < NARROW_BELOW ? SIZES.narrow : SIZES.wide;
  const sheet = { width, box, letters, columns: { lexical: 0, fused: (width - box) / 2, dense: width - box } };
  const hits = found.hits.slice(0, 10);
  const said = element("p", { class: "inspector-said small", "aria-live": "off" });
  const places = placesOf(hits);
  const rows = Math.max(hits.length, places.lexical.size, places.dense.size);
  const svg = drawing("svg", {
    class: "inspector",
    viewBox: `-2 0 ${width + 4} ${TOP + rows * ROW}`,
    role: "group",
    "aria-label": t("How the passages were ranked by words, by meaning, and together"),
  });
  svg.style.maxWidth = `${width * LARGEST}px`;
  svg.append(...titles(found, sheet), ...lines(hits, places, sheet), ...boxes(hits, places, sheet));
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

/** The row of every hit in each leg, by rank, without gaps for missing ranks. */
function placesOf(hits) {
  const order = (leg) => {
    const ranked = hits.map((hit, index) => [hit.scores[leg]?.rank, index]).filter(([rank]) => rank);
    ranked.sort(([one], [other]) => one - other);
    return new Map(ranked.map(([, index], row) => [index, row]));
  };
  return { lexical: order("lexical"), dense: order("dense") };
}

function titles(found, { box, columns }) {
  const leg = (name, words) => (found.legs[name]?.status === "ok" ? words : `(${words})`);
  const title = (x, words) =>
    drawing("text", { x: x + box / 2, y: 16, "text-anchor": "middle", class: "inspector-title" }, words);
  return [
    title(columns.lexical, leg("lexical", t("by words"))),
    title(columns.fused, t("together")),
    title(columns.dense, leg("dense", t("by meaning"))),
  ];
}

function middle(row) {
  return TOP + row * ROW + ROW / 2 - 3;
}

function lines(hits, places, { box, columns }) {
  const join = (index, from, to, row, target) => {
    const bend = (from + to) / 2;
    return drawing("path", {
      d: `M${from} ${middle(row)} C${bend} ${middle(row)} ${bend} ${middle(target)} ${to} ${middle(target)}`,
      class: "inspector-line",
      "data-hit": index,
    });
  };
  return hits.flatMap((_, index) => [
    ...(places.lexical.has(index)
      ? [join(index, columns.lexical + box, columns.fused, places.lexical.get(index), index)]
      : []),
    ...(places.dense.has(index)
      ? [join(index, columns.dense, columns.fused + box, places.dense.get(index), index)]
      : []),
  ]);
}

function boxes(hits, places, sheet) {
  return hits.flatMap((hit, index) => [
    node(hit, index, sheet, sheet.columns.fused, index, index + 1, true),
    ...["lexical", "dense"]
      .filter((leg) => places[leg].has(index))
      .map((leg) => node(hit, index, sheet, sheet.columns[leg], places[leg].get(index), hit.scores[leg].rank, false)),
  ]);
}

function node(hit, index, { box, letters }, x, row, rank, main) {
  const name = hit.heading || hit.filename;
  const focus = main
    ? { tabindex: "0", role: "button", "aria-label": `${rank}. ${hit.filename}, ${name}. ${plain(hit)}` }
    : { "aria-hidden": "true" };
  return drawing(
    "g",
    {
      class: main ? "inspector-node main" : "inspector-node",
      "data-hit": index,
      transform: `translate(${x} ${TOP + row * ROW})`,
      ...focus,
    },
    drawing("rect", { width: box, height: ROW - 7, rx: 5 }),
    drawing("text", { x: 10, y: 18, class: "inspector-rank" }, rank),
    // An SVG of its own clips text that is too wide in any font.
    drawing("svg", { x: 32, width: box - 38, height: ROW - 7, overflow: "hidden" }, drawing("text", { y: 18 }, shortened(name, letters))),
  );
}

function plain(hit) {
  const leg = (words, found) =>
    found?.rank ? t("{leg} rank {rank}, score {score}", { leg: words, rank: found.rank, score: score(found.score) }) : t("{leg} none", { leg: words });
  return [leg(t("Words"), hit.scores.lexical), leg(t("Meaning"), hit.scores.dense), t("together {score}", { score: score(hit.scores.fused) })].join("; ");
}

function describe(hit, index) {
  return [
    element("strong", {}, `${index + 1}. ${hit.filename}`),
    hit.heading ? ` · ${hit.heading}` : "",
    ` — ${plain(hit)}${hit.scores.rerank === null ? "" : `; ${t("reranked {score}", { score: score(hit.scores.rerank) })}`}.`,
  ];
}

function rest(hits) {
  const both = hits.filter((hit) => hit.scores.lexical?.rank && hit.scores.dense?.rank).length;
  return t("{both} of {all} were listed by both legs. Point at a passage to see its scores.", { both, all: hits.length });
}
