/** Running uploads: one bar for all of them, an estimate of the time, and failures with their reasons. */

import { button, element, refill } from "./dom.js";
import { jobs } from "./jobs.js";
import { count, figure, t } from "./language.js";
import { jobRow, shareOf, transferRow } from "./progress.js";
import { state } from "./state.js";
import { transfers } from "./upload.js";
import { longTime, sentence } from "./words.js";

const SHOWN = 6;
const GROUPED_FROM = 3;

export class Tray {
  #began = 0;
  #done = 0;
  #openGroups = new Set();

  constructor() {
    this.root = element("section", { class: "work", "aria-label": t("Adding documents"), hidden: true });
    jobs.onChange(() => this.#draw());
    transfers.onChange(() => this.#draw());
  }

  #draw() {
    const { unfinished, failed, finished } = jobs;
    const sending = transfers.all.filter((one) => !one.error);
    const refused = transfers.all.filter((one) => one.error);
    const busy = unfinished.length + sending.reduce((sum, one) => sum + one.files.length, 0);
    this.root.hidden = busy === 0 && failed.length === 0 && refused.length === 0 && finished.length === 0;
    const running = unfinished.filter((job) => job.state === "running");
    const shown = [...running, ...unfinished.filter((job) => job.state === "queued")].slice(0, SHOWN);
    const hidden = unfinished.length - shown.length;
    refill(this.root, () => [
      element(
        "div",
        { class: "row" },
        element("h2", { class: "grow" }, heading(busy, failed.length + refused.length, finished.length)),
        finished.length > 0 && busy === 0 && askAbout(finished),
        finished.length > 0 && busy === 0 && button(t("Clear"), { kind: "quiet small", onclick: () => jobs.forgetFinished() }),
      ),
      busy > 0 && this.#bar(busy, finished.length, running, sending),
      element(
        "ul",
        { class: "jobs" },
        this.#failures(failed),
        refused.map(transferRow),
        sending.map(transferRow),
        shown.map(jobRow),
        hidden > 0 && element("li", { class: "soft small" }, t("and {number} more", { number: figure(hidden) })),
        finished.slice(0, Math.max(0, 4 - unfinished.length)).map(jobRow),
      ),
    ]);
    if (busy === 0) this.#began = 0;
  }

  /** One bar for everything since work was last idle. */
  #bar(busy, finished, running, sending) {
    const part = running.reduce((sum, job) => sum + shareOf(job), 0) + sending.reduce((sum, one) => sum + one.share * 0.1, 0);
    if (!this.#began) [this.#began, this.#done] = [Date.now(), finished];
    const ready = Math.max(0, finished - this.#done);
    const share = Math.min(1, (ready + part) / Math.max(1, ready + busy));
    const filled = element("span");
    filled.style.width = `${Math.round(share * 100)}%`;
    const left = share > 0.05 ? ((Date.now() - this.#began) / share) * (1 - share) : 0;
    const bar = element(
      "span",
      { class: "bar whole", role: "progressbar", "aria-label": t("Total progress"), "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": Math.round(share * 100) },
      filled,
    );
    return [bar, element("p", { class: "small soft" }, left > 5000 ? t("about {time} left", { time: longTime(left) }) : t("Documents are found by their words as soon as they are read."))];
  }

  /** Repeated reasons are shown once. */
  #failures(failed) {
    const groups = new Map();
    for (const job of failed) groups.set(job.error?.code, [...(groups.get(job.error?.code) || []), job]);
    return [...groups].flatMap(([code, own]) => (own.length < GROUPED_FROM ? own.map(jobRow) : [this.#group(code, own)]));
  }

  #group(code, own) {
    const may = state.may("write");
    const each = (action) => () => own.forEach((job) => action(job));
    const details = element(
      "details",
      { open: this.#openGroups.has(code) },
      element("summary", {}, element("strong", { class: "failure" }, count(own.length, "document")), ` ${sentence(own[0].error?.message || "")} ${own[0].error?.remedy || ""}`),
      element("ul", { class: "jobs" }, own.map(jobRow)),
    );
    details.addEventListener("toggle", () => (details.open ? this.#openGroups.add(code) : this.#openGroups.delete(code)));
    return element(
      "li",
      { class: "job failed" },
      details,
      may && element("div", { class: "row" }, own.some((job) => job.retryable) && button(t("Try all again"), { picture: "again", kind: "quiet", onclick: each((job) => jobs.retry(job)) }), button(t("Dismiss all"), { kind: "quiet", onclick: each((job) => jobs.dismiss(job)) })),
    );
  }
}

function heading(busy, failed, finished) {
  if (busy === 0 && failed > 0 && finished > 0) return t("The documents are added, with {failures}.", { failures: count(failed, "failure") });
  if (busy > 0) return t("Adding {documents}", { documents: count(busy, "document") });
  return failed > 0 ? t("{documents} could not be added", { documents: count(failed, "document") }) : t("Added");
}

function askAbout(finished) {
  const documents = finished.filter((job) => job.document_id).map((job) => ({ id: job.document_id, filename: job.name }));
  if (documents.length === 0) return null;
  const go = () => (state.setScope({ documents }), (location.hash = "#/ask"));
  return button(t("Ready: ask about these"), { kind: "primary", onclick: go });
}
