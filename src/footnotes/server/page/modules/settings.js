/** Settings and status: the parts of the server, remaining quotas, and keys. */

import { button, element, fill } from "./dom.js";
import { getJson, key, postJson, send } from "./api.js";
import { facts } from "./facts.js";
import { keysSection } from "./keys.js";
import { glance } from "./metrics.js";
import { modelsCard } from "./models.js";
import { state } from "./state.js";
import { LANGUAGES, chooseLanguage, count, figure, language, t } from "./language.js";
import { bytes, day, duration } from "./words.js";

export class SettingsView {
  #visible = false;

  constructor(root) {
    this.parts = {
      library: part(),
      answering: part(),
      models: part(),
      legs: part(),
      quota: part(),
      metrics: part(),
      keys: part(),
      looks: part(),
    };
    fill(
      root,
      element(
        "div",
        { class: "page settings" },
        element("h1", {}, t("Settings and status")),
        element("p", {}, t("The models, keys and state of this library.")),
        element("div", { class: "cards" }, Object.values(this.parts)),
      ),
    );
    state.on("status", () => this.#visible && this.#drawStatus());
    state.on("legs", () => this.#visible && this.#drawLegs());
    fill(this.parts.looks, looks());
    modelsCard(this.parts.answering);
  }

  /** Called when the view is shown: figures are only loaded then. */
  async show() {
    this.#visible = true;
    this.#drawStatus();
    this.#drawLegs();
    await Promise.allSettled([this.#drawQuota(), this.#drawMetrics(), this.#drawKeys(), this.#checkLegs()]);
  }

  hide() {
    this.#visible = false;
  }

  #drawStatus() {
    const { status } = state;
    if (!status) return;
    const kinds = Object.entries(status.by_status || {})
      .filter(([name]) => name !== "ready")
      .map(([name, number]) => `${figure(number)} ${name}`);
    fill(
      this.parts.library,
      title(t("Library")),
      facts([
        [t("Documents"), figure(state.documents())],
        [t("Not ready"), kinds.join(", ") || null],
        [t("Chunks"), figure(status.chunks)],
        [t("Characters"), figure(status.characters)],
        [t("On disk"), bytes(status.disk_bytes)],
        [t("Waiting"), status.queue ? count(status.queue, "job") : t("nothing")],
        ["Footnotes", status.version],
      ]),
    );
    const changed =
      status.embedder !== status.configured_embedder ? t("{model} is set: reindex to use it", { model: status.configured_embedder }) : null;
    fill(
      this.parts.models,
      title(t("Models in use")),
      facts([
        [t("Answers"), status.model === "extractive" ? t("extractive: sentences of the documents themselves") : status.model],
        [t("Vectors"), status.embedder],
        [t("Dimensions"), status.dimensions && figure(status.dimensions)],
        [t("Changed"), changed],
        [t("Reranker"), status.reranker || t("none")],
        [t("Index"), status.generation && t("generation {number}", { number: status.generation })],
      ]),
    );
  }

  #drawLegs() {
    const { legs } = state;
    const row = (name, words) => {
      const leg = legs?.[name];
      const up = leg?.status === "ok";
      const said = !leg
        ? t("not asked yet")
        : up
          ? t("up, {time}", { time: duration(leg.ms) })
          : `${leg.status}${leg.reason ? `: ${leg.reason}` : ""}`;
      return element(
        "li",
        {},
        element("span", { class: `dot ${up ? "up" : leg?.status === "failed" ? "down" : ""}`, "aria-hidden": "true" }),
        element("strong", {}, words),
        element("span", { class: leg?.status === "failed" ? "failure" : "soft" }, said),
      );
    };
    fill(
      this.parts.legs,
      title(t("Legs of a search")),
      element("ul", { class: "legs" }, row("lexical", t("Words")), row("dense", t("Meaning"))),
      element(
        "p",
        { class: "small soft" },
        t("As of the last search. "),
        button(t("Check now"), { kind: "link", onclick: () => this.#checkLegs() }),
      ),
    );
  }

  async #checkLegs() {
    if (state.documents() === 0) return;
    const found = await postJson("/v1/search", { query: "status", limit: 1 });
    state.setLegs(found.legs);
  }

  async #drawQuota() {
    const { answers, tenant } = await getJson("/v1/usage");
    const filled = element("span");
    filled.style.width = `${Math.min(100, (answers.used / Math.max(answers.limit, 1)) * 100)}%`;
    fill(
      this.parts.quota,
      title(t("Answers this month")),
      element(
        "p",
        { class: "big number" },
        figure(answers.used),
        element("span", { class: "soft" }, ` ${t("of {number}", { number: figure(answers.limit) })}`),
      ),
      element("span", { class: "bar", role: "img", "aria-label": t("{number} of {all} used", { number: answers.used, all: answers.limit }) }, filled),
      element(
        "p",
        { class: "small soft" },
        t("{number} left; reset on {day}. Library of {tenant}.", { number: figure(answers.remaining), day: day(answers.resetDate), tenant }),
      ),
    );
  }

  async #drawMetrics() {
    this.parts.metrics.hidden = !state.may("admin");
    if (this.parts.metrics.hidden) return;
    const text = await (await send("/metrics", { accept: "text/plain" })).text();
    fill(this.parts.metrics, title(t("Since the server started")), facts(glance(text)));
  }

  async #drawKeys() {
    this.parts.keys.hidden = !state.may("admin");
    if (!this.parts.keys.hidden) await keysSection(this.parts.keys);
  }
}

function part() {
  return element("section", { class: "card" });
}

function title(words) {
  return element("h2", {}, words);
}

function looks() {
  const choices = [
    ["", t("As the system")],
    ["light", t("Light")],
    ["dark", t("Dark")],
  ];
  const chosen = document.documentElement.dataset.theme || "";
  const choose = (value) => {
    if (value) {
      document.documentElement.dataset.theme = value;
      localStorage.setItem("footnotes.theme", value);
    } else {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("footnotes.theme");
    }
  };
  const radio = ([value, words]) =>
    element(
      "label",
      { class: "radio" },
      element("input", { type: "radio", name: "theme", checked: value === chosen, onchange: () => choose(value) }),
      words,
    );
  const leave =
    key.get() &&
    element(
      "p",
      { class: "small" },
      button(t("Forget the key of this tab"), { kind: "link", onclick: () => (key.forget(), location.reload()) }),
    );
  return [
    title(t("This page")),
    element("div", { role: "radiogroup", "aria-label": t("Colours") }, choices.map(radio)),
    element("p", { class: "row" }, element("label", { for: "language" }, t("Language")), languages()),
    leave,
  ];
}

function languages() {
  const select = element(
    "select",
    { id: "language", onchange: () => chooseLanguage(select.value) },
    Object.entries(LANGUAGES).map(([value, words]) => element("option", { value, lang: value }, words)),
  );
  select.value = language;
  return select;
}
