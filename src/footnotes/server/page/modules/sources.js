/** The basis of an answer: documents, passages, and their score in each leg. */

import { element, fill } from "./dom.js";
import { panel } from "./panel.js";
import { plainWords } from "./plain.js";
import { state } from "./state.js";
import { count, t } from "./language.js";
import { pageOf, score, shortened } from "./words.js";

/**
 * @param {import("./turn.js").Turn} turn
 * @param {{onOpen: (hit: any, origin: HTMLElement) => void}} actions
 */
export function showSources(turn, { onOpen }) {
  const list = element("div", { class: "source-groups" });
  const cited = new Set(turn.citations.map((citation) => citation.document_id));
  const draw = () => fill(list, groups(turn.hits.filter(wanted), cited, onOpen));
  const collections = [...new Set(turn.hits.map((hit) => hit.collection))];
  const documents = new Map(turn.hits.map((hit) => [hit.document_id, hit.filename]));
  const collection = picker(t("Collection"), [["", t("All collections")], ...collections.map((name) => [name, name])], draw);
  const only = picker(t("Document"), [["", t("All documents")], ...documents], draw);
  const wanted = (hit) =>
    (!collection.value || hit.collection === collection.value) && (!only.value || hit.document_id === only.value);
  draw();
  const subtitle = t("{passages} from {documents}", { passages: count(turn.hits.length, "passage"), documents: count(documents.size, "document") });
  const filters = element(
    "div",
    { class: "filters" },
    collections.length > 1 && collection,
    documents.size > 1 && only,
  );
  panel.show({
    title: t("Sources"),
    subtitle,
    body: element(
      "div",
      { class: "panel-body", tabindex: "0", role: "region", "aria-label": t("Passages") },
      filters,
      list,
    ),
    label: t("Sources"),
  });
}

function picker(label, entries, onChange) {
  return element(
    "select",
    { "aria-label": label, onchange: onChange },
    entries.map(([value, words]) => element("option", { value }, words)),
  );
}

function groups(hits, cited, onOpen) {
  const byDocument = Map.groupBy ? Map.groupBy(hits, (hit) => hit.document_id) : grouped(hits);
  return [...byDocument.values()].map((own) => group(own, cited.has(own[0].document_id), onOpen));
}

function grouped(hits) {
  const map = new Map();
  for (const hit of hits) map.set(hit.document_id, [...(map.get(hit.document_id) || []), hit]);
  return map;
}

function group(hits, isCited, onOpen) {
  const [first] = hits;
  const narrow = element(
    "button",
    {
      type: "button",
      class: "link small",
      onclick: () => state.setScope({ documents: [{ id: first.document_id, filename: first.filename }] }),
    },
    t("ask only this"),
  );
  return element(
    "section",
    { class: "source-group" },
    element(
      "h3",
      { class: "row" },
      element("span", { class: "clip grow" }, first.filename),
      isCited && element("span", { class: "cited" }, t("cited")),
      narrow,
    ),
    element(
      "ul",
      {},
      hits.map((hit) => element("li", {}, passage(hit, onOpen))),
    ),
  );
}

function passage(hit, onOpen) {
  const where = [hit.pages ? pageOf(hit.pages[0]) : hit.lines ? t("line {line}", { line: hit.lines[0] }) : "", hit.headings.join(" › ")]
    .filter(Boolean)
    .join(" · ");
  const row = element(
    "button",
    { type: "button", class: "passage" },
    where && element("span", { class: "where clip" }, where),
    element("span", { class: "passage-text" }, shortened(plainWords(hit), 220)),
    scoreLine(hit.scores),
  );
  row.addEventListener("click", () => onOpen(hit, row));
  return row;
}

/** The rank and score of each leg on one line. */
export function scoreLine(scores) {
  const leg = (name, found) =>
    element(
      "span",
      {},
      `${name} `,
      element("b", {}, found?.rank ? `#${found.rank}` : "–"),
      found?.rank ? ` ${score(found.score)}` : "",
    );
  return element(
    "span",
    { class: "score-line number" },
    leg(t("Words"), scores.lexical),
    leg(t("Meaning"), scores.dense),
    element("span", {}, `${t("together")} `, element("b", {}, score(scores.fused))),
    scores.rerank !== null && element("span", {}, `${t("Reranker")} `, element("b", {}, score(scores.rerank))),
  );
}
