/** The sources the server follows: folders, sites, repositories, each with its last run. */

import { announce, button, element, fill } from "./dom.js";
import { getJson, postJson } from "./api.js";
import { jobs } from "./jobs.js";
import { figure, t } from "./language.js";
import { state } from "./state.js";
import { moment } from "./words.js";

export class Followed {
  constructor() {
    this.list = element("ul", { class: "jobs" });
    this.root = element("details", { class: "followed", hidden: true }, (this.summary = element("summary")), this.list);
  }

  /** Called when the library comes to the front. */
  async show() {
    try {
      const { sources } = await getJson("/v1/sources");
      this.root.hidden = sources.length === 0;
      this.summary.textContent = t("Followed sources ({number})", { number: figure(sources.length) });
      fill(this.list, sources.map(row));
    } catch {
      this.root.hidden = true; // a server may follow none
    }
  }
}

function row(source) {
  const counts = Object.entries(source.counts || {}).filter(([, number]) => number > 0);
  const said = source.ran_at
    ? t("last run {moment}", { moment: moment(source.ran_at) })
    : t("not run yet");
  const run = async () => {
    try {
      jobs.take(await postJson(`/v1/sources/${encodeURIComponent(source.id)}/run`));
    } catch (error) {
      announce(`${error.message}. ${error.remedy || ""}`);
    }
  };
  return element(
    "li",
    { class: "job" },
    element(
      "span",
      { class: "job-line" },
      element("span", { class: "clip grow", title: source.address }, source.address),
      element("span", { class: "soft" }, [source.collection, said, ...counts.map(([name, number]) => `${name} ${figure(number)}`)].join(" · ")),
      state.may("write") && button(t("Read now"), { picture: "again", kind: "quiet", onclick: run }),
    ),
    source.error && element("p", { class: "cause" }, element("strong", { class: "failure" }, `${source.error.message}. `), source.error.remedy),
  );
}
