/** Search: passages with marked words, and a picture of their ranking. */

import { button, element, fill } from "./dom.js";
import { isAbort, postJson } from "./api.js";
import { filterWords, withoutWord } from "./filters.js";
import { inspector } from "./inspector.js";
import { plainWords } from "./plain.js";
import { showSource } from "./source.js";
import { scoreLine } from "./sources.js";
import { state } from "./state.js";
import { marksOf } from "./terms.js";
import { count, t } from "./language.js";
import { duration, pageOf, sourcePlace } from "./words.js";

const LIMIT = 12;
const TEACHING =
  t("Search finds passages by their words and by their meaning, and shows how both were combined. For an answer in sentences, ask. Filters such as layer:domain, symbol:name, imports:name or path:src/** limit it to code.");

export class SearchView {
  #abort = new AbortController();

  constructor(root) {
    this.input = element("input", {
      type: "search",
      "aria-label": t("Search for"),
      placeholder: t("Words or a question"),
      class: "grow",
      autocomplete: "off",
    });
    this.mode = element(
      "select",
      { "aria-label": t("How to search"), onchange: () => this.#run() },
      [
        ["hybrid", t("Words and meaning")],
        ["lexical", t("Words alone")],
        ["dense", t("Meaning alone")],
      ].map(([value, words]) => element("option", { value }, words)),
    );
    this.results = element("div", { class: "results" });
    const form = element(
      "form",
      { class: "row search-line", role: "search", onsubmit: (event) => (event.preventDefault(), this.#run()) },
      this.input,
      this.mode,
      button(t("Search"), { kind: "primary", type: "submit" }),
    );
    this.teaching = element("p", {}, TEACHING);
    fill(root, element("div", { class: "page" }, element("h1", {}, t("Search")), this.teaching, form, this.results));
    state.on("scope", () => this.input.value.trim() && this.#run());
  }

  focus() {
    this.input.focus();
  }

  /** Search for the words in the address. */
  find(query) {
    this.input.value = query;
    this.#run();
  }

  /** A new search cancels the running one, so late results never appear under other words. */
  async #run() {
    const query = this.input.value.trim();
    if (!query) return;
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      const found = await postJson(
        "/v1/search",
        { query, limit: LIMIT, per_document: LIMIT, mode: this.mode.value, ...state.filter() },
        signal,
      );
      if (signal.aborted) return;
      state.setLegs(found.legs);
      this.#draw(found);
    } catch (error) {
      if (!isAbort(error))
        fill(
          this.results,
          element(
            "div",
            { class: "trouble" },
            element("p", { class: "failure" }, `${error.message}.`),
            element("p", {}, error.remedy || ""),
          ),
        );
    }
  }

  #draw(found) {
    const legs = Object.entries(found.legs).map(
      ([name, leg]) =>
        `${name === "lexical" ? t("Words") : t("Meaning")} ${leg.status === "ok" ? duration(leg.ms) : leg.status}`,
    );
    const said = element(
      "p",
      { class: "small soft number", role: "status" },
      t("{passages} in {time} ({legs})", { passages: count(found.hits.length, "passage"), time: duration(found.took_ms), legs: legs.join(", ") }),
    );
    const within = this.#within();
    if (found.hits.length === 0)
      return fill(
        this.results,
        said,
        within,
        element("p", { class: "nothing" }, t("Nothing was found. Try other words, or more collections.")),
      );
    const list = element("div", { class: "hits" }, this.#groups(found));
    const picture = element("div");
    const pick = (index) => /** @type {HTMLElement | null} */ (list.querySelector(`#hit-${index} button`))?.focus();
    const drawn = element("details", { class: "inspector-frame" }, element("summary", {}, t("How these were ranked")), picture);
    // Drawn on demand, for the width available then.
    drawn.addEventListener("toggle", () => drawn.open && fill(picture, inspector(found, pick, picture.clientWidth)));
    return fill(this.results, said, within, list, drawn);
  }

  /** Group the hits of one document at the place of its best hit. */
  #groups(found) {
    const byDocument = new Map();
    found.hits.forEach((hit, index) =>
      byDocument.set(hit.document_id, [...(byDocument.get(hit.document_id) || []), { hit, index }]),
    );
    return [...byDocument.values()].map((own) =>
      element(
        "section",
        { class: "hit-group", "aria-label": own[0].hit.filename },
        element("h2", { class: "clip" }, nameOf(own[0].hit)),
        element(
          "ol",
          {},
          own.map(({ hit, index }) => element("li", { id: `hit-${index}` }, this.#hit(hit, found.query))),
        ),
      ),
    );
  }

  /** The filters in the query, each with a button to remove it. */
  #within() {
    const words = filterWords(this.input.value);
    if (words.length === 0) return null;
    const remove = (word) => {
      this.input.value = withoutWord(this.input.value, word);
      this.focus();
      this.#run();
    };
    return element(
      "p",
      { class: "within" },
      t("Within "),
      words.map((word) =>
        button(`${word} ×`, { kind: "quiet", title: t("Search without {word}", { word }), onclick: () => remove(word) }),
      ),
    );
  }

  #hit(hit, query) {
    const at = hit.pages ? pageOf(hit.pages[0]) : hit.lines ? t("line {line}", { line: hit.lines[0] }) : "";
    const where = [at, hit.headings.join(" › ")].filter(Boolean).join(" · ");
    const row = element(
      "button",
      { type: "button", class: "hit" },
      where && element("span", { class: "hit-head soft clip" }, where),
      element("span", { class: "hit-text" }, marksOf(plainWords(hit), query)),
      scoreLine(hit.scores),
    );
    row.addEventListener("click", () =>
      showSource({ ...hit, page: hit.pages ? hit.pages[0] : null, quote: hit.text }, { origin: row, label: t("Passage") }),
    );
    return row;
  }
}

/** A file of a repository is shown by its path. */
function nameOf(hit) {
  const { repository, path, commit } = hit.metadata;
  return repository && path ? sourcePlace(path, null, commit) : hit.filename;
}
