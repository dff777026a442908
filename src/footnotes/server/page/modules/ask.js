/** The conversation: the question field, the turns, and navigation between footnotes. */

import { announce, button, element, fill, icon } from "./dom.js";
import { getJson } from "./api.js";
import { catalogue } from "./documents.js";
import { count, t } from "./language.js";
import { addressOf, newConversationId } from "./conversations.js";
import { alignNotes } from "./margin.js";
import { mentions } from "./mentions.js";
import { ModelPicker } from "./models.js";
import { panel } from "./panel.js";
import { close as closePopover } from "./popover.js";
import { showSource } from "./source.js";
import { showSources } from "./sources.js";
import { MOST_NAMES, renamed, scopeIn, scopeName, scopeWords } from "./scope.js";
import { state } from "./state.js";
import { Turn } from "./turn.js";
import { distinct } from "./answer.js";
import { welcome } from "./welcome.js";
import { sentence } from "./words.js";

const MOST_HISTORY = 12;
const PATIENCE = 3000;

export class AskView {
  /** @type {Turn[]} */
  #turns = [];
  /** @type {{turn: Turn, marker: number} | null} the footnote whose source is open */
  #open = null;
  /** The open conversation; none before the first question. */
  conversation = "";
  /** Whether the requested conversation was not found. */
  lost = false;

  /**
   * @param {HTMLElement} root
   * @param {{onWritten: () => void, onOpened: (id: string) => void}} actions
   */
  constructor(root, actions) {
    this.root = root;
    this.outer = actions;
    this.sheet = element("div", { class: "sheet" });
    this.scroll = element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Conversation") },
      this.sheet,
    );
    fill(root, element("h1", { class: "unseen" }, t("Conversation")), this.scroll, this.#composer());
    new ResizeObserver(() => this.#turns.forEach((turn) => alignNotes(turn.root))).observe(this.sheet);
    panel.onClosed(() => this.#select(null, null));
    state.on("scope", () => (this.#drawScope(), this.#drawEmpty()));
    state.on("status", () => this.#drawEmpty());
    catalogue.on(() => this.#rename());
    this.#drawEmpty();
    this.#drawScope();
  }

  #composer() {
    this.input = element("textarea", {
      rows: "1",
      id: "question",
      placeholder: t("Ask your documents"),
      "aria-label": t("Your question"),
      maxlength: "20000",
      autocomplete: "off",
    });
    this.go = button(t("Ask"), { kind: "primary", type: "submit" });
    this.halt = button(t("Stop"), { picture: "stop", hidden: true, onclick: () => this.stop() });
    this.deep = element("input", { type: "checkbox", id: "deep" });
    this.chips = element("span", { class: "row" });
    this.picker = new ModelPicker();
    this.fresh = button(t("New conversation"), { kind: "link", hidden: true, onclick: () => this.restart() });
    const form = element(
      "form",
      { class: "composer", onsubmit: (event) => (event.preventDefault(), this.ask(this.input.value)) },
      mentions(this.input),
      element("div", { class: "composer-line" }, this.input, this.halt, this.go),
      element(
        "div",
        { class: "composer-foot" },
        this.chips,
        this.picker.root,
        element(
          "label",
          { title: t("Searches several times, in steps, before it answers") },
          this.deep,
          t("Look deeper, in steps"),
        ),
        this.fresh,
        element(
          "span",
          { class: "hint" },
          element("kbd", {}, "?"),
          t(" all keys"),
        ),
      ),
    );
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask(this.input.value);
    });
    return element("div", { class: "composer-frame" }, form);
  }

  focus() {
    this.input.focus();
  }

  /** @param {string} question */
  ask(question) {
    const asked = question.trim();
    if (!asked) return this.focus();
    if (this.isAsking) {
      announce(t("The answer is still being written. Stop it first, or wait."));
      return undefined;
    }
    if (state.status && state.documents() === 0 && !state.isScoped) { // its documents may not be counted yet
      announce(t("There are no documents to answer from yet. Add some first."));
      this.welcome?.querySelector("button")?.focus();
      return undefined;
    }
    panel.close(); // the panel shows an earlier answer
    const options = {
      filter: state.filter(),
      scopeWords: scopeWords(state.scope),
      history: this.#history(),
      deep: this.deep.checked,
      model: this.picker.value,
    };
    const turn = this.#start(asked, options);
    this.input.value = "";
    // The keys for footnotes work at once; `/` returns to the field.
    turn.root.focus({ preventScroll: true });
    return undefined;
  }

  #start(question, options, replaces = 0) {
    const before = [...this.#turns];
    const keeping = () => this.#place(before, replaces);
    const turn = new Turn(question, { ...options, kept: null, keeping }, this.#actions());
    if (this.lost) this.#clear();
    this.#turns.push(turn);
    for (const one of before) one.redraw();
    this.welcome?.remove();
    this.welcome = null;
    this.sheet.append(turn.root);
    this.#drawButtons();
    turn.run();
    turn.root.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
    return turn;
  }

  /** Where the server stores the next turn: known after its responses to the earlier ones. */
  async #place(before, replaces) {
    await Promise.race([state.known, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
    if (!state.status?.keeps_conversations) return null;
    if (!this.conversation) this.#name(newConversationId());
    const { conversation } = this;
    await Promise.all(before.map((turn) => turn.written));
    const last = before.findLast((turn) => turn.isWritten);
    const number = replaces || (last ? last.options.kept.number + 1 : 1);
    return { conversation, number, begins: !last && !replaces, replaces: replaces > 0 };
  }

  #name(id) {
    this.conversation = id;
    this.outer.onOpened(id);
    if (id) history.replaceState(null, "", addressOf(id));
  }

  /** Open a stored conversation, even in the middle of an answer. */
  async show(id) {
    if (id === this.conversation) return;
    this.#clear();
    this.conversation = id;
    this.outer.onOpened(id);
    try {
      const found = await getJson(`/v1/conversations/${encodeURIComponent(id)}`);
      if (this.conversation !== id) return;
      this.#turns = found.turns.map((kept) => this.#restored(id, kept));
      fill(
        this.sheet,
        this.#turns.map((turn) => turn.root),
      );
      for (const turn of this.#turns) (turn.redraw(), alignNotes(turn.root));
      this.#drawButtons();
      const last = this.#turns.at(-1);
      this.picker.value = last?.options.model || "";
      if (last) state.setScope(scopeIn(last.options.filter)); // the next question keeps the same scope
      last?.root.scrollIntoView({ block: "start" });
      document.title = `${found.conversation.title} · Footnotes`;
    } catch (error) {
      if (this.conversation !== id) return;
      this.conversation = "";
      this.lost = true;
      this.outer.onOpened("");
      fill(
        this.sheet,
        element(
          "div",
          { class: "welcome" },
          element("h1", {}, error.status === 404 ? t("This conversation does not exist.") : t("It could not be read.")),
          element("p", { class: "lead" }, `${sentence(error.message)} ${error.remedy}`),
          element("p", {}, button(t("New conversation"), { kind: "primary", onclick: () => this.restart() })),
        ),
      );
    }
  }

  #restored(id, kept) {
    const { deep = false, model = "", ...filter } = kept.request;
    const options = {
      filter,
      scopeWords: scopeWords(scopeIn(filter)),
      history: [],
      deep,
      model,
      kept: { conversation: id, number: kept.number, begins: false, replaces: false },
    };
    return Turn.restored(kept, options, this.#actions());
  }

  #actions() {
    return {
      onFootnote: (turn, citation, origin) => this.openFootnote(turn, citation, origin),
      onSources: (turn) => showSources(turn, { onOpen: (hit, origin) => this.#openHit(turn, hit, origin) }),
      onAgain: (turn) => this.#again(turn),
      onChange: () => this.#drawButtons(),
      onEdit: (turn, question) => this.#replace(turn, question),
      onWritten: () => this.outer.onWritten(),
      isLast: (turn) => this.#turns.at(-1) === turn || this.#turns.length === 0,
      onHit: (turn, hit, origin) => this.#openHit(turn, hit, origin),
      onSearch: (turn) => (location.hash = `#/search?q=${encodeURIComponent(turn.question)}`),
      onAll: (turn) => {
        state.setScope({});
        this.ask(turn.question);
      },
      onContinue: () => this.ask(t("Go on where your last answer stopped.")),
      onRephrase: (turn) => {
        this.input.value = turn.question;
        this.focus();
      },
    };
  }

  #again(turn) {
    this.#replace(turn, turn.question);
  }

  /** Ask again in place of a turn; it and the turns after it are removed. */
  #replace(turn, question) {
    const place = this.#turns.indexOf(turn);
    if (this.isAsking) this.stop();
    panel.close();
    for (const gone of this.#turns.splice(place)) gone.root.remove();
    // The user may choose another model before asking again.
    const options = { ...turn.options, model: this.picker.value };
    this.#start(question, options, turn.isWritten ? turn.options.kept.number : 0);
    this.focus();
  }

  /** Earlier questions and answers, without broken answers. */
  #history() {
    const done = this.#turns.filter((turn) => turn.state === "done" && turn.answer?.kind !== "nothing");
    return done
      .flatMap((turn) => [
        { role: "user", text: turn.question },
        { role: "assistant", text: turn.text },
      ])
      .slice(-MOST_HISTORY);
  }

  get isAsking() {
    return this.#turns.at(-1)?.state === "asking";
  }

  /** Copy the answer in view, or the last one. */
  copy() {
    (this.#open?.turn || this.#turns.findLast((turn) => turn.text))?.copy();
  }

  stop() {
    this.#turns.at(-1)?.stop();
    this.#drawButtons();
  }

  /** Start a new conversation. A stored one continues in the background. */
  restart() {
    if (!this.conversation) this.stop();
    this.#clear();
    this.#name("");
    if (location.hash !== "#/ask") history.pushState(null, "", "#/ask");
    document.title = "Footnotes";
    this.welcome = null;
    this.#drawEmpty();
    this.focus();
  }

  #clear() {
    this.lost = false;
    for (const turn of this.#turns) turn.leave();
    this.#turns = [];
    this.#open = null;
    this.welcome = null;
    panel.close();
    this.sheet.replaceChildren();
    this.#drawButtons();
  }

  openFootnote(turn, citation, origin) {
    this.#select(turn, citation.marker);
    const footnotes = distinct(turn.citations);
    const place = footnotes.findIndex((one) => one.marker === citation.marker);
    const move = (step) => () => this.step(step);
    showSource(citation, {
      origin,
      label: t("Footnote {marker} of {all}", { marker: citation.marker, all: footnotes.length }),
      others: footnotes.filter((one) => one !== citation),
      proves: turn.sentenceOf(citation.marker),
      onPrevious: place > 0 ? move(-1) : null,
      onNext: place < footnotes.length - 1 ? move(1) : null,
    });
    closePopover(); // it would cover the text with the same words
    // If the panel covers the text, the sentence must stay in sight.
    requestAnimationFrame(() => turn.referenceTo(citation.marker)?.scrollIntoView({ block: "nearest" }));
  }

  #openHit(turn, hit, origin) {
    this.#select(null, null);
    const page = hit.pages ? hit.pages[0] : null;
    showSource(
      { ...hit, page, quote: hit.text },
      { origin, label: t("Passage"), onBack: () => this.#actions().onSources(turn) },
    );
  }

  #select(turn, marker) {
    this.#open?.turn.select(null);
    this.#open = turn ? { turn, marker } : null;
    turn?.select(marker);
  }

  /** The next or previous footnote of the open one's answer, or of the last answer that has any. */
  step(direction) {
    const turn = this.#open?.turn || this.#turns.findLast((one) => one.citations.length > 0);
    if (!turn) return;
    const footnotes = distinct(turn.citations);
    const now = this.#open
      ? footnotes.findIndex((one) => one.marker === this.#open?.marker)
      : direction > 0
        ? -1
        : footnotes.length;
    const next = footnotes[now + direction];
    if (!next) return;
    const origin = turn.referenceTo(next.marker);
    this.openFootnote(turn, next, origin);
    origin?.focus({ preventScroll: true });
    closePopover();
  }

  #drawButtons() {
    const busy = this.isAsking;
    this.halt.hidden = !busy;
    this.go.hidden = busy;
    this.fresh.hidden = this.#turns.length === 0;
  }

  #drawScope() {
    const { collections, documents } = state.scope;
    const chip = (words, clear) =>
      element(
        "span",
        { class: "chip" },
        element("span", { class: "clip" }, words),
        element("button", { type: "button", "aria-label": t("Remove the limit to {name}", { name: words }), onclick: clear }, icon("close")),
      );
    const many = documents.length > MOST_NAMES;
    fill(
      this.chips,
      collections.map((name) => chip(name, () => state.toggleCollection(name))),
      many
        ? chip(count(documents.length, "document"), () => state.setScope({ collections }))
        : documents.map((one) => chip(one.filename, () => state.toggleDocument(one))),
    );
    this.chips.hidden = !state.isScoped;
    this.input.placeholder = state.isScoped ? t("Ask {name}", { name: scopeName(state.scope) }) : t("Ask your documents");
  }

  /** Documents were named or renamed. */
  #rename() {
    for (const turn of this.#turns) turn.drawScope(scopeWords(scopeIn(turn.options.filter)));
    const scope = renamed(state.scope);
    if (JSON.stringify(scope) !== JSON.stringify(state.scope)) state.setScope(scope);
  }

  #drawEmpty() {
    if (this.#turns.length > 0 || this.conversation || this.lost || !state.status) return;
    const { collections, documents: single } = state.scope;
    const documents = (state.isScoped && collections.length === 0 ? 0 : state.documents(collections)) + single.length;
    const shown = JSON.stringify([documents, state.scope]);
    if (this.welcome && this.welcomeFor === shown) return;
    this.welcomeFor = shown;
    this.welcome = welcome(documents, (question) => this.ask(question));
    fill(this.sheet, this.welcome);
  }
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
