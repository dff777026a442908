/** Rows for work under way: a bar by stage, or the cause and the remedy. */

import { button, element } from "./dom.js";
import { showDocument } from "./document.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { transfers } from "./upload.js";
import { count, kindOf, sentence } from "./words.js";

/** Where a stage begins and ends on the bar of the whole. */
const STAGES = { parsing: [0, 0.35], embedding: [0.35, 0.9], indexing: [0.9, 1] };
const SAID = { parsing: "reading", embedding: "making vectors", indexing: "indexing" };

export function jobRow(job) {
  if (job.state === "failed")
    return failedRow(job.name, job.error, job.kind, {
      retry: job.retryable && state.may("write") ? () => jobs.retry(job) : null,
      dismiss: state.may("write") ? () => jobs.dismiss(job) : null,
    });
  if (job.state === "ready") return readyRow(job);
  const name = job.kind === "reindex" ? `Reindexing ${job.name}` : job.name;
  if (job.state === "queued") return line(name, "waits");
  const said = job.stage ? `${SAID[job.stage]}${job.total > 1 ? ` ${job.done} of ${job.total}` : ""}` : "begins";
  return row(name, said, share(job), job.state === "running" && !job.stage);
}

function share(job) {
  if (!job.stage) return 0;
  const [begin, end] = STAGES[job.stage];
  return begin + (end - begin) * (job.total > 0 ? job.done / job.total : 0);
}

function line(name, said, ...more) {
  return element(
    "li",
    { class: "job" },
    element(
      "span",
      { class: "job-line" },
      element("span", { class: "kind" }, kindOf(name)),
      element("span", { class: "clip grow" }, name),
      element("span", { class: "soft number" }, said),
    ),
    more,
  );
}

function row(name, said, part, unsure = false) {
  const filled = element("span");
  filled.style.width = `${Math.round(part * 100)}%`;
  const bar = element(
    "span",
    {
      class: unsure ? "bar unsure" : "bar",
      role: "progressbar",
      "aria-label": name,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": Math.round(part * 100),
    },
    filled,
  );
  return line(name, said, bar);
}

function readyRow(job) {
  const documents = job.documents.filter((one) => one.document_id);
  const chunks = documents.reduce((sum, one) => sum + one.chunks, 0);
  const said =
    job.kind === "reindex"
      ? "reindexed"
      : documents[0]?.status === "deduplicated"
        ? "already here"
        : `ready, ${count(chunks, "chunk")}`;
  const name = job.kind === "reindex" ? `Reindexed ${job.name}` : job.name;
  const title = job.document_id
    ? element(
        "button",
        {
          type: "button",
          class: "link clip grow",
          onclick: (event) => showDocument(job.document_id, { origin: event.currentTarget }),
        },
        name,
      )
    : element("span", { class: "clip grow" }, name);
  return element(
    "li",
    { class: "job" },
    element(
      "span",
      { class: "job-line" },
      element("span", { class: "kind" }, kindOf(job.name)),
      title,
      element("span", { class: "soft" }, said),
    ),
  );
}

function failedRow(name, error, kind, { retry, dismiss }) {
  return element(
    "li",
    { class: "job failed" },
    element(
      "span",
      { class: "job-line" },
      element("span", { class: "kind" }, kindOf(name)),
      element("span", { class: "clip grow" }, kind === "reindex" ? `Reindexing ${name}` : name),
      retry && button("Try again", { picture: "again", kind: "quiet", onclick: retry }),
      dismiss && button(`Dismiss ${name}`, { picture: "close", only: true, kind: "quiet", onclick: dismiss }),
    ),
    element(
      "p",
      { class: "cause" },
      element("strong", { class: "failure" }, `${sentence(error?.message || "it failed")} `),
      error?.remedy || "",
    ),
  );
}

export function transferRow(transfer) {
  const name = transfer.files.length === 1 ? transfer.files[0].path : count(transfer.files.length, "file");
  if (transfer.error)
    return failedRow(name, transfer.error, "upload", {
      retry: transfer.final ? null : () => transfers.retry(transfer),
      dismiss: () => transfers.dismiss(transfer),
    });
  return row(name, "sending", transfer.share);
}
