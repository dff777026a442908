/** One question and its answer: the steps, the words as they arrive, the footnotes, and the result. */

import { announce, button, element, fill } from "./dom.js";
import { AnswerText, asMarkdown, distinct } from "./answer.js";
import { alignNotes } from "./margin.js";
import { connectModel, connections, QUOTATIONS } from "./models.js";
import { Quotations } from "./quotations.js";
import { ApiError, getJson, isAbort, postJson, send } from "./api.js";
import { copyTo } from "./clipboard.js";
import { eventsOf } from "./events.js";
import { judging } from "./judging.js";
import { plainWords } from "./plain.js";
import { state } from "./state.js";
import { asRichText, showExport } from "./taking.js";
import { cutWords, isDoubtful, kindOf, modelFailure, notices, rowsOf, summaryOf } from "./steps.js";
import { count, t } from "./language.js";
import { duration, placeOf, sentence, shortened } from "./words.js";

const NEAREST = 3;

const REJOINS = 3;

/** Seconds of silence that need no explanation. */
const PATIENCE = 3;

/** @typedef {"asking" | "done" | "stopped" | "failed" | "forgotten"} TurnState */

/**
 * @typedef {object} Kept where the server stores a turn
 * @property {string} conversation
 * @property {number} number
 * @property {boolean} begins whether it is the first question
 * @property {boolean} replaces whether it replaces the stored turn and those after it
 */

export class Turn {
  text = "";
  /** @type {import("./answer.js").Citation[]} */
  citations = [];
  /** @type {[number, number][]} */
  unsupported = [];
  /** @type {[number, number][]} */
  uncertain = [];
  hits = [];
  steps = [];
  /** @type {any} the whole answer, once complete */
  answer = null;
  /** @type {TurnState} */
  state = "asking";
  /** @type {number | null} the footnote whose source is open */
  selected = null;
  #abort = new AbortController();
  #frame = 0;
  #clock = 0;
  #noted = "[]";
  judgement = { rating: null, reason: "" };
  /** Whether the server has stored the question; known when it responds. */
  written = Promise.resolve(false);
  isWritten = false;

  /**
   * @param {string} question
   * @param {{filter: any, scopeWords: string, history: {role: string, text: string}[], deep: boolean, model?: string, kept?: Kept | null, keeping?: () => Promise<Kept | null>}} options
   * @param {{onFootnote: (turn: Turn, citation: any, origin: HTMLElement) => void, onSources: (turn: Turn) => void, onAgain: (turn: Turn) => void, onChange: () => void, onHit: (turn: Turn, hit: any, origin: HTMLElement) => void, onSearch: (turn: Turn) => void, onAll: (turn: Turn) => void, onRephrase: (turn: Turn) => void, onContinue: (turn: Turn) => void, onEdit: (turn: Turn, question: string) => void, isLast: (turn: Turn) => boolean, onWritten: (turn: Turn) => void}} actions
   */
  constructor(question, options, actions) {
    this.question = question;
    this.options = options;
    this.actions = actions;
    this.#build();
  }

  #build() {
    this.unfolding = element(
      "details",
      { class: "steps", "data-busy": "" },
      (this.summary = element("summary", {}, t("Searching your documents"))),
      (this.stepList = element("ol")),
    );
    this.kind = element("p", { class: "kind-note" });
    this.body = element("div", { class: "prose answer" });
    this.nearest = element("div", { class: "nearest", hidden: true });
    this.notes = element("ol", { class: "notes", "aria-label": t("Footnotes"), hidden: true });
    this.notice = element("div", { class: "turn-notice", hidden: true });
    this.foot = element("div", { class: "turn-foot" });
    this.root = element(
      "article",
      { class: "turn", tabindex: "-1", "aria-busy": "true", "aria-label": shortened(this.question, 80) },
      (this.head = element("div", { class: "question-line" }, element("h2", { class: "question", dir: "auto" }, this.question))),
      (this.scope = element("p", { class: "scope-note", hidden: true })),
      this.unfolding,
      this.kind,
      this.body,
      this.nearest,
      this.notes,
      this.notice,
      this.foot,
    );
    this.drawScope(this.options.scopeWords);
    // Content that unfolds above an answer moves its lines, and so their notes.
    this.unfolding.addEventListener("toggle", () => alignNotes(this.root));
    this.quotes = this.options.model === QUOTATIONS || (connections.isKnown && !connections.isAny);
    const open = (citation, origin) => this.actions.onFootnote(this, citation, origin);
    this.writer = new AnswerText(this.body, open);
    this.quoter = new Quotations(this.body, open);
  }

  /** @param {string} words the scope as text, empty for everything */
  drawScope(words) {
    this.options.scopeWords = words;
    this.scope.textContent = words;
    this.scope.hidden = !words;
  }

  /** Where the server stores this turn. */
  get path() {
    const { kept } = this.options;
    return kept ? `/v1/conversations/${kept.conversation}/turns/${kept.number}` : "";
  }

  /** A model on this machine may read for minutes before its first word, so the waiting time is shown. */
  #watchTheClock() {
    const begun = Date.now();
    clearInterval(this.#clock);
    this.#clock = setInterval(() => {
      const seconds = Math.round((Date.now() - begun) / 1000);
      if (this.text) return this.#stopTheClock();
      if (this.hits.length > 0 && !this.quotes && seconds >= PATIENCE)
        this.kind.textContent = t("Waiting for the first words of the model: {time}", { time: count(seconds, "second") });
      return undefined;
    }, 1000);
  }

  #stopTheClock() {
    clearInterval(this.#clock);
    if (!this.answer) this.kind.textContent = "";
  }

  /** Ask, and follow the answer to its end. All results go into this turn, however late they arrive. */
  async run() {
    let known = (_) => {};
    this.written = new Promise((resolve) => (known = resolve));
    this.options.kept = (await this.options.keeping?.()) || null;
    if (this.state !== "asking") return known(false);
    try {
      const response = await this.#asked();
      this.isWritten = Boolean(this.options.kept);
      known(true);
      if (this.isWritten) this.actions.onWritten(this);
      await this.#read(response);
    } catch (error) {
      known(false);
      await this.#broken(error);
    }
  }

  #asked() {
    const { kept, deep, filter, history, model } = this.options;
    const asked = { question: this.question, deep, ...filter, ...(model ? { model } : {}) };
    const request = (path, body) =>
      send(path, { method: "POST", body, accept: "text/event-stream", signal: this.#abort.signal });
    if (!kept) return request("/v1/ask", { ...asked, history });
    if (kept.begins) return request("/v1/conversations", { ...asked, id: kept.conversation });
    const place = kept.replaces ? { replaces: kept.number } : {};
    return request(`/v1/conversations/${kept.conversation}/turns`, { ...asked, ...place });
  }

  async #read(response) {
    this.#watchTheClock();
    for await (const event of eventsOf(response)) {
      if (this.state !== "asking") return;
      this.#take(event.name, event.data);
    }
    if (this.state === "asking")
      throw new ApiError({ message: t("the answer broke off before its end"), remedy: t("Ask again; the text so far is kept.") });
  }

  async #broken(error) {
    if (this.state !== "asking" || isAbort(error)) return;
    // The server continues a stored answer, so after a lost connection follow it again.
    if (this.path && (await this.written) && !(error instanceof ApiError && error.status) && (await this.#rejoined()))
      return;
    const known =
      error instanceof ApiError
        ? error
        : new ApiError({
            message: t("the connection broke off"),
            remedy: t("Check that the server runs, then ask again; the text so far is kept."),
          });
    this.#fail(known);
  }

  async #rejoined() {
    for (let attempt = 0; attempt < REJOINS && this.state === "asking"; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500 * (attempt + 1)));
      try {
        this.#settle(await getJson(this.path, this.#abort.signal));
        if (this.state === "asking") await this.follow();
        return true;
      } catch {
        // retry
      }
    }
    return false;
  }

  /** Follow an answer in progress: its events so far, then the rest. */
  async follow() {
    const response = await send(`${this.path}/events`, { accept: "text/event-stream", signal: this.#abort.signal });
    this.text = "";
    this.citations = [];
    this.steps = [];
    await this.#read(response);
  }

  /** Show a turn as the server stored it. */
  static restored(kept, options, actions) {
    const turn = new Turn(kept.question, options, actions);
    turn.written = Promise.resolve(true);
    turn.isWritten = true;
    turn.judgement = { rating: kept.rating, reason: kept.reason };
    turn.#settle(kept);
    if (turn.state === "asking") turn.follow().catch((error) => turn.#broken(error));
    return turn;
  }

  #settle(kept) {
    this.text = kept.text;
    this.citations = kept.answer?.citations || [];
    if (kept.state === "asking") return this.#draw();
    if (kept.state === "done") return this.#done(kept.answer, { quietly: true });
    this.state = kept.state;
    if (kept.answer?.answer) this.#keep(kept.answer);
    const words = {
      stopped: t("Stopped. The text so far is kept."),
      forgotten: t("A document that this answer quoted was deleted, and the answer with it. Ask again to use the other documents."),
      failed: kept.error ? `${sentence(kept.error.message)} ${kept.error.remedy}` : t("The answer broke off."),
    }[kept.state];
    return this.#finish(words, kept.state === "failed");
  }

  /** Stop always works: the words received so far stay. */
  stop() {
    if (this.state !== "asking") return;
    this.state = "stopped";
    // The server stops and saves a stored turn; only disconnecting would let it continue.
    if (this.path) postJson(`${this.path}/stop`).catch(() => this.#abort.abort());
    else this.#abort.abort();
    this.#finish(t("Stopped. The text so far is kept."));
    announce(t("Stopped."));
  }

  /** Stop following; the server continues stored answers. */
  leave() {
    clearInterval(this.#clock);
    if (this.state === "asking") this.#abort.abort();
  }

  #take(name, data) {
    if (name === "step") this.steps.push(data.step);
    else if (name === "hits") this.hits = data.hits;
    else if (name === "token") this.text += data.text;
    else if (name === "citation") this.citations.push(data.citation);
    else if (name === "done") return this.#done(data.answer);
    else if (name === "error") return this.#fail(new ApiError(data.error || {}), data.answer);
    if (name === "step" || name === "hits") this.#drawSteps();
    if (name === "token" || name === "citation") this.#drawSoon();
    return undefined;
  }

  /** Draw at most once per frame, however fast the words arrive. */
  #drawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.state === "asking") (this.#stopTheClock(), this.#draw());
    });
  }

  #draw() {
    this.#drawText();
    const footnotes = distinct(this.citations);
    this.notes.hidden = footnotes.length === 0;
    this.root.classList.toggle("noted", footnotes.length > 0);
    const signature = JSON.stringify(footnotes.map(({ marker, document_id: from, start }) => [marker, from, start]));
    if (signature !== this.#noted)
      fill(
        this.notes,
        footnotes.map((citation) => this.#note(citation)),
      );
    this.#noted = signature;
    this.body.classList.toggle("waiting", this.state === "asking");
    alignNotes(this.root);
    this.actions.onChange();
  }

  /** Prose from a model, or quotations in cards: never one in the form of the other. */
  #drawText() {
    const cards = this.quotes && this.citations.length > 0;
    this.writer.draw(cards || (this.quotes && this.state === "asking") ? "" : this.text, this.citations, this.unsupported, this.uncertain);
    this.quoter.draw(this.text, cards ? this.citations : [], this.hits);
  }

  #note(citation) {
    const note = element(
      "button",
      {
        type: "button",
        class: "note",
        "data-marker": citation.marker,
        "aria-label": t("Open footnote {marker}: {place}", { marker: citation.marker, place: placeOf(citation) }),
      },
      element(
        "span",
        { class: "note-quote" },
        element("span", { class: "marker" }, citation.marker),
        `“${shortened(plainWords(citation), 240)}”`,
      ),
      element("span", { class: "note-from" }, placeOf(citation)),
    );
    note.addEventListener("click", () => this.actions.onFootnote(this, citation, note));
    note.addEventListener("mouseenter", () => this.light(citation.marker, true));
    note.addEventListener("mouseleave", () => this.light(citation.marker, false));
    return element("li", { "data-marker": citation.marker }, note);
  }

  /** Show the sentence that a footnote supports. */
  light(marker, on) {
    const lit = on || marker === this.selected;
    for (const part of this.body.querySelectorAll(`.supported[data-marker="${marker}"]`))
      part.classList.toggle("lit", lit);
  }

  /** @returns {HTMLElement | null} the number of a footnote in the text */
  referenceTo(marker) {
    return this.body.querySelector(`.reference a[data-marker="${marker}"]`);
  }

  /** The words that a footnote supports. */
  sentenceOf(marker) {
    return [...this.body.querySelectorAll(`.supported[data-marker="${marker}"]`)].map((one) => one.textContent).join(" ");
  }

  /** Mark the footnote whose source is open, or none. */
  select(marker) {
    this.selected = marker;
    for (const part of this.body.querySelectorAll(".supported"))
      part.classList.toggle("lit", part.getAttribute("data-marker") === String(marker));
    for (const link of this.body.querySelectorAll(".reference a"))
      link.setAttribute("aria-expanded", String(link.getAttribute("data-marker") === String(marker)));
    for (const note of this.notes.querySelectorAll(".note"))
      note.setAttribute("aria-current", String(note.getAttribute("data-marker") === String(marker)));
  }

  #drawSteps() {
    this.summary.textContent = summaryOf(this.steps, this.hits);
    fill(this.stepList, rowsOf(this.steps, this.hits));
  }

  #done(answer, { quietly = false } = {}) {
    this.#keep(answer);
    if (answer.incomplete) this.#dropHalf();
    this.state = "done";
    if (!quietly) state.setLegs(answer.legs);
    this.#drawKind({ ...answer, citations: this.citations });
    this.#finish(answer.incomplete ? cutWords(answer) : notices(answer), false, answer.incomplete);
    if (quietly) return;
    const footnotes = this.citations.length > 0 ? t("With {footnotes}.", { footnotes: count(distinct(this.citations).length, "footnote") }) : "";
    const doubts = this.unsupported.length > 0 ? t("Not supported by the documents: {sentences}.", { sentences: count(this.unsupported.length, "sentence") }) : "";
    announce([t("Answer: {answer}", { answer: answer.answer }), footnotes, doubts].filter(Boolean).join(" "));
  }

  /** The basis of the answer; a failed model is reported as a failure, even if quotations follow. */
  #drawKind(answer) {
    const failure = modelFailure(answer);
    const words = [failure && t("The model failed: {reason}", { reason: sentence(failure) }), kindOf(answer)].filter(Boolean).join(" ");
    this.kind.classList.toggle("broken", Boolean(failure));
    const connect = answer.model === "extractive" && !failure && connections.mayConnect && !connections.isAny;
    fill(this.kind, words, connect && [" ", button(t("Connect one"), { kind: "link", onclick: connectModel })]);
    this.#drawNearest(answer);
  }

  /** If nothing answers, or little of the answer is supported: show the nearest passages, and other ways to search. */
  #drawNearest(answer) {
    const hits = answer.hits.slice(0, NEAREST);
    this.nearest.hidden = answer.kind !== "nothing" && !isDoubtful(answer);
    if (this.nearest.hidden) return;
    fill(
      this.nearest,
      hits.length > 0 && element("h3", {}, t("The nearest passages")),
      element(
        "ul",
        {},
        hits.map((hit) => {
          const open = element(
            "button",
            { type: "button", class: "note" },
            element("span", { class: "note-quote" }, shortened(plainWords(hit), 200)),
            element("span", { class: "note-from" }, placeOf({ ...hit, page: hit.pages ? hit.pages[0] : null })),
          );
          open.addEventListener("click", () => this.actions.onHit(this, hit, open));
          return element("li", {}, open);
        }),
      ),
      element(
        "div",
        { class: "row" },
        button(t("Search for it"), { kind: "quiet", onclick: () => this.actions.onSearch(this) }),
        this.options.scopeWords && button(t("Ask all sources"), { kind: "quiet", onclick: () => this.actions.onAll(this) }),
        button(t("Rephrase"), { kind: "quiet", onclick: () => this.actions.onRephrase(this) }),
      ),
    );
  }

  #keep(answer) {
    this.answer = answer;
    this.quotes = answer.model === QUOTATIONS;
    this.text = answer.answer;
    this.citations = answer.citations;
    this.unsupported = answer.unsupported;
    this.uncertain = this.quotes ? [] : answer.uncertain || [];
    this.hits = answer.hits;
    this.steps = answer.steps.length > 0 ? answer.steps : this.steps;
  }

  /** Drop the footnotes of an incomplete last sentence: nothing can support it. */
  #dropHalf() {
    const end = [...this.text.trimEnd()].length;
    if (/[.!?…。！？؟"”»)|\]]$/.test(this.text.trimEnd())) return;
    this.citations = this.citations.filter((citation) => citation.answer_span[1] < end);
  }

  #fail(error, answer = null) {
    if (answer && answer.answer) this.#keep(answer);
    this.#dropHalf();
    this.state = "failed";
    this.#finish(`${sentence(error.message)} ${error.remedy}`, true);
    announce(t("The answer failed: {reason}", { reason: error.message }));
  }

  #finish(notice, broken = false, goesOn = false) {
    cancelAnimationFrame(this.#frame);
    this.#stopTheClock();
    delete this.unfolding.dataset.busy;
    this.root.setAttribute("aria-busy", "false");
    if (this.hits.length > 0 || this.steps.length > 0) this.#drawSteps();
    else this.unfolding.hidden = true;
    this.#draw();
    this.notice.hidden = !notice;
    this.notice.classList.toggle("broken", broken);
    this.goesOn = goesOn;
    fill(this.notice, notice || "");
    this.#drawFoot();
    this.actions.onChange();
  }

  #drawFoot() {
    const copy = button(t("Copy"), {
      picture: "copy",
      kind: "quiet",
      title: t("Copy the answer with its footnotes (c)"),
      onclick: () => this.copy(copy),
    });
    const plain = button("Markdown", {
      kind: "quiet",
      title: t("Copy the answer with its footnotes as Markdown"),
      onclick: () => this.#copied(plain, ""),
    });
    const { kept } = this.options;
    const facts = this.answer ? [this.quotes ? "" : this.answer.model, duration(this.answer.took_ms)].filter(Boolean).join(" · ") : "";
    const again = this.actions.isLast(this) && (this.state !== "done" || this.path);
    fill(
      this.foot,
      this.goesOn && this.actions.isLast(this) && button(t("Continue"), { kind: "primary", onclick: () => this.actions.onContinue(this) }),
      this.text && [copy, plain],
      this.text && this.isWritten && kept && button(t("Export"), { picture: "download", kind: "quiet", onclick: () => showExport(kept.conversation) }),
      this.hits.length > 0 &&
        button(t("Sources"), { picture: "list", kind: "quiet", onclick: () => this.actions.onSources(this) }),
      again && button(t("Ask again"), { picture: "again", kind: "quiet", onclick: () => this.actions.onAgain(this) }),
      this.path && this.state === "done" && judging(this.path, this.judgement),
      facts && element("span", { class: "facts number" }, facts),
    );
    this.#drawHead();
  }

  /** Update the actions: they depend on other turns. */
  redraw() {
    if (this.state !== "asking") this.#drawFoot();
  }

  #drawHead() {
    const edit =
      this.path &&
      button(t("Edit the question"), { picture: "pencil", only: true, kind: "quiet", onclick: () => this.#edit() });
    fill(this.head, element("h2", { class: "question", dir: "auto" }, this.question), edit);
  }

  #edit() {
    const field = element("textarea", { class: "edit", rows: "2", "aria-label": t("Your question"), maxlength: "20000" });
    field.value = this.question;
    const back = () => {
      this.#drawHead();
      /** @type {HTMLElement | null} */ (this.head.querySelector("button"))?.focus();
    };
    const go = () => (field.value.trim() ? this.actions.onEdit(this, field.value.trim()) : field.focus());
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") (event.stopPropagation(), back());
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      go();
    });
    fill(
      this.head,
      element(
        "div",
        { class: "grow" },
        field,
        !this.actions.isLast(this) && element("p", { class: "small soft" }, t("Later questions and answers are removed.")),
        element(
          "div",
          { class: "row" },
          button(t("Ask"), { kind: "primary", onclick: go }),
          button(t("Cancel"), { onclick: back }),
        ),
      ),
    );
    field.focus();
  }

  /** Copy the answer with its footnotes: formatted for word processors, as Markdown otherwise. */
  copy(origin = this.foot.querySelector("button")) {
    return this.#copied(origin, asRichText(this.body, this.citations));
  }

  #copied(origin, rich) {
    const text = asMarkdown(this.text, this.citations, this.unsupported);
    return copyTo(origin, { text, rich, said: t("Copied with its footnotes."), title: t("The answer as Markdown") });
  }
}
