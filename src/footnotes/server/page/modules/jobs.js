/** Background work: running and failed jobs, followed over one stream of events. */

import { getJson, isAbort, postJson, remove, send } from "./api.js";
import { announce } from "./dom.js";
import { eventsOf } from "./events.js";
import { state } from "./state.js";
import { refreshStatus } from "./status.js";
import { count, t } from "./language.js";

const SHORTEST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;
const MOST_READY = 200;

class Jobs extends EventTarget {
  /** @type {Map<string, any>} */
  #jobs = new Map();
  #abort = new AbortController();
  #frame = 0;

  /** @param {() => void} action */
  onChange(action) {
    this.addEventListener("change", action);
  }

  get unfinished() {
    return [...this.#jobs.values()].filter((job) => job.state === "queued" || job.state === "running");
  }

  get failed() {
    return [...this.#jobs.values()].filter((job) => job.state === "failed");
  }

  /** Jobs that became ready while the page was open, newest first. */
  get finished() {
    return [...this.#jobs.values()].filter((job) => job.state === "ready" && job.seen).reverse();
  }

  take(job) {
    const before = this.#jobs.get(job.id);
    const wasBusy = this.unfinished.length > 0;
    const kept = { ...job, seen: before?.seen || job.state === "queued" || job.state === "running" };
    this.#jobs.delete(job.id);
    this.#jobs.set(job.id, kept);
    if (job.state === "ready" && before?.state !== "ready") {
      state.changed("documents");
      refreshStatus();
    }
    const ready = [...this.#jobs.values()].filter((one) => one.state === "ready");
    for (const old of ready.slice(0, Math.max(0, ready.length - MOST_READY))) this.#jobs.delete(old.id);
    if (wasBusy && this.unfinished.length === 0)
      announce(
        this.failed.length > 0
          ? t("The documents are added, with {failures}.", { failures: count(this.failed.length, "failure") })
          : t("All documents are added."),
      );
    this.#changed();
  }

  /** Limit drawing to a few times a second: a folder of a thousand files reports often. */
  #changed() {
    this.#frame ||= setTimeout(() => {
      this.#frame = 0;
      this.dispatchEvent(new Event("change"));
    }, 80);
  }

  async retry(job) {
    this.take(await postJson(`/v1/jobs/${job.id}/retry`));
  }

  /** Send the password of a PDF; a new job replaces the failed one. */
  async unlock(job, password) {
    const made = await postJson(`/v1/jobs/${job.id}/unlock`, { password });
    this.#jobs.delete(job.id);
    this.take(made);
  }

  async dismiss(job) {
    await remove(`/v1/jobs/${job.id}`);
    this.#jobs.delete(job.id);
    this.#changed();
  }

  forgetFinished() {
    for (const job of this.finished) this.#jobs.delete(job.id);
    this.#changed();
  }

  /** Follow the jobs while the page is open; reopen a broken stream with growing delays. */
  async follow() {
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    let wait = SHORTEST_WAIT;
    while (!signal.aborted) {
      try {
        await this.#catchUp(signal);
        const response = await send("/v1/jobs/events", { accept: "text/event-stream", signal });
        wait = SHORTEST_WAIT;
        for await (const event of eventsOf(response)) if (event.name === "job") this.take(event.data);
      } catch (error) {
        if (isAbort(error) || error.status === 401) return;
        // A stream that ended without a reason means that the server is gone.
        if (!error.code) state.setOnline(false);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  /** Load earlier failures, and the results of work that was running when the stream broke. */
  async #catchUp(signal) {
    const { jobs } = await getJson("/v1/jobs?state=failed&limit=200", signal);
    for (const job of jobs.reverse()) this.take(job);
    for (const job of this.unfinished) {
      const now = await getJson(`/v1/jobs/${job.id}`, signal).catch((error) =>
        error.status === 404 ? null : Promise.reject(error),
      );
      if (now) this.take(now);
      else this.#jobs.delete(job.id);
    }
  }
}

export const jobs = new Jobs();
