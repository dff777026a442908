/** Settings and status: what serves the library, what is left, who may come in. */

import { button, element, fill } from "./dom.js";
import { getJson, key, postJson, send } from "./api.js";
import { keysSection } from "./keys.js";
import { glance } from "./metrics.js";
import { modelsCard } from "./models.js";
import { state } from "./state.js";
import { bytes, count, day, duration, figure } from "./words.js";

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
        element("h1", {}, "Settings and status"),
        element("p", {}, "What serves this library, and how it does."),
        element("div", { class: "cards" }, Object.values(this.parts)),
      ),
    );
    state.on("status", () => this.#visible && this.#drawStatus());
    state.on("legs", () => this.#visible && this.#drawLegs());
    fill(this.parts.looks, looks());
    modelsCard(this.parts.answering);
  }

  /** Called when the view comes to the front: figures are read then, not behind its back. */
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
      title("Library"),
      facts([
        ["Documents", figure(state.documents())],
        ["Not ready", kinds.join(", ") || null],
        ["Chunks", figure(status.chunks)],
        ["Characters", figure(status.characters)],
        ["On disk", bytes(status.disk_bytes)],
        ["Waiting", status.queue ? count(status.queue, "job") : "nothing"],
        ["Footnotes", status.version],
      ]),
    );
    const changed =
      status.embedder !== status.configured_embedder ? `${status.configured_embedder} is set: reindex to use it` : null;
    fill(
      this.parts.models,
      title("Models in use"),
      facts([
        ["Answers", status.model === "extractive" ? "extractive: sentences of the documents themselves" : status.model],
        ["Vectors", status.embedder],
        ["Dimensions", status.dimensions && figure(status.dimensions)],
        ["Changed", changed],
        ["Reranker", status.reranker || "none"],
        ["Index", status.generation && `generation ${status.generation}`],
      ]),
    );
  }

  #drawLegs() {
    const { legs } = state;
    const row = (name, words) => {
      const leg = legs?.[name];
      const up = leg?.status === "ok";
      const said = !leg
        ? "not asked yet"
        : up
          ? `up, ${duration(leg.ms)}`
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
      title("Legs of a search"),
      element("ul", { class: "legs" }, row("lexical", "Words"), row("dense", "Meaning")),
      element(
        "p",
        { class: "small soft" },
        "As of the last search. ",
        button("Check now", { kind: "link", onclick: () => this.#checkLegs() }),
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
      title("Answers this month"),
      element(
        "p",
        { class: "big number" },
        figure(answers.used),
        element("span", { class: "soft" }, ` of ${figure(answers.limit)}`),
      ),
      element("span", { class: "bar", role: "img", "aria-label": `${answers.used} of ${answers.limit} used` }, filled),
      element(
        "p",
        { class: "small soft" },
        `${figure(answers.remaining)} left; counted anew from ${day(answers.resetDate)}. Library of ${tenant}.`,
      ),
    );
  }

  async #drawMetrics() {
    this.parts.metrics.hidden = !state.may("admin");
    if (this.parts.metrics.hidden) return;
    const text = await (await send("/metrics", { accept: "text/plain" })).text();
    fill(this.parts.metrics, title("Since the server started"), facts(glance(text)));
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

export function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== 0);
  return element(
    "dl",
    { class: "facts-list" },
    shown.map(([name, value]) => [element("dt", {}, name), element("dd", { class: "number" }, String(value))]),
  );
}

function looks() {
  const choices = [
    ["", "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
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
      button("Forget the key of this tab", { kind: "link", onclick: () => (key.forget(), location.reload()) }),
    );
  return [
    title("This page"),
    element("div", { role: "radiogroup", "aria-label": "Colours" }, choices.map(radio)),
    leave,
  ];
}
