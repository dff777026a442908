/** Followed sources: folders, sites, repositories, each with its last run. */

import { announce, button, element, refill, settled } from "./dom.js";
import { getJson, postJson, remove } from "./api.js";
import { jobs } from "./jobs.js";
import { figure, t } from "./language.js";
import { state } from "./state.js";
import { withUndo } from "./undo.js";
import { moment } from "./words.js";

export class Followed {
  /** @type {any[]} */
  #sources = [];
  #mayFollow = false;

  constructor() {
    this.list = element("ul", { class: "jobs" });
    this.root = element("details", { class: "followed", hidden: true }, (this.summary = element("summary")), this.list);
    state.on("sources", () => ((this.root.open = true), this.show()));
    // A run that ends may have added documents.
    state.on("documents", settled(1000, () => this.root.hidden || this.show()));
  }

  /** Called when the library view is shown. */
  async show() {
    try {
      const { sources, may_follow: mayFollow } = await getJson("/v1/sources");
      this.#sources = sources;
      this.#mayFollow = mayFollow;
    } catch {
      this.#sources = []; // a server may not support sources
    }
    this.#draw();
  }

  #draw() {
    this.root.hidden = this.#sources.length === 0;
    this.summary.textContent = t("Followed sources ({number})", { number: figure(this.#sources.length) });
    refill(this.list, () => this.#sources.map((source) => this.#row(source)));
  }

  #row(source) {
    const counts = Object.entries(source.counts || {}).filter(([, number]) => number > 0);
    const said = source.ran_at ? t("last run {moment}", { moment: moment(source.ran_at) }) : t("not run yet");
    return element(
      "li",
      { class: "job" },
      element(
        "span",
        { class: "job-line" },
        element("span", { class: "clip grow", title: source.address }, source.address),
        state.may("write") && button(t("Read now"), { picture: "again", kind: "quiet", onclick: () => readNow(source) }),
        this.#mayFollow &&
          button(t("Stop following {name}", { name: source.address }), { picture: "bin", only: true, kind: "quiet", onclick: () => this.#drop(source) }),
      ),
      element("p", { class: "small soft" }, [source.collection, said, ...counts.map(([name, number]) => `${name} ${figure(number)}`)].join(" · ")),
      source.error && element("p", { class: "cause" }, element("strong", { class: "failure" }, `${source.error.message}. `), source.error.remedy),
    );
  }

  #drop(source) {
    const before = this.#sources;
    this.#sources = before.filter((one) => one !== source);
    this.#draw();
    withUndo(t("Stopped following {name}. Its documents stay.", { name: source.address }), {
      undo: () => ((this.#sources = before), this.#draw()),
      send: (leaving) => remove(`/v1/sources/${encodeURIComponent(source.id)}`, { keepalive: leaving }).catch(() => this.show()),
    });
  }
}

async function readNow(source) {
  try {
    jobs.take(await postJson(`/v1/sources/${encodeURIComponent(source.id)}/run`));
  } catch (error) {
    announce(`${error.message}. ${error.remedy || ""}`);
  }
}
