/** Rows for running jobs: a progress bar by stage, or the cause of a failure and its remedy. */

import { button, element } from "./dom.js";
import { showDocument } from "./document.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { transfers } from "./upload.js";
import { count, t } from "./language.js";
import { kindOf, sentence } from "./words.js";

/** The start and end of each stage on the overall bar. */
const STAGES = { parsing: [0, 0.35], embedding: [0.35, 0.9], indexing: [0.9, 1] };
const SAID = { parsing: t("reading"), embedding: t("making vectors"), indexing: t("indexing") };

export function jobRow(job) {
  if (job.state === "failed")
    return failedRow(job.name, job.error, job.kind, {
      retry: job.retryable && state.may("write") ? () => jobs.retry(job) : null,
      dismiss: state.may("write") ? () => jobs.dismiss(job) : null,
      more: isLocked(job) && state.may("write") && passwordBox(job),
    });
  if (job.state === "ready") return readyRow(job);
  const name = job.kind === "reindex" ? t("Reindexing {name}", { name: job.name }) : job.name;
  if (job.state === "queued") return line(name, t("waiting"));
  const said = job.stage ? job.total > 1 ? t("{stage} {done} of {total}", { stage: SAID[job.stage], done: job.done, total: job.total }) : SAID[job.stage] : t("starting");
  return row(name, said, shareOf(job), job.state === "running" && !job.stage);
}

export function shareOf(job) {
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
      ? t("reindexed")
      : documents[0]?.status === "deduplicated"
        ? t("already here")
        : t("ready, {chunks}", { chunks: count(chunks, "chunk") });
  const name = job.kind === "reindex" ? t("Reindexed {name}", { name: job.name }) : job.name;
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

function isLocked(job) {
  return job.error?.code === "encrypted_document" && kindOf(job.name) === "pdf";
}

/** Kept while the tray is redrawn; otherwise typed text would be lost. @type {Map<string, HTMLElement>} */
const boxes = new Map();

/** A form for the password of a PDF. */
function passwordBox(job) {
  if (boxes.has(job.id)) return boxes.get(job.id);
  const field = element("input", { type: "password", class: "small", maxlength: "200", autocomplete: "off", placeholder: t("Password"), "aria-label": t("Password of {name}", { name: job.name }) });
  const said = element("p", { class: "small failure", role: "status" });
  const open = async (event) => {
    event.preventDefault();
    if (!field.value) return field.focus();
    try {
      await jobs.unlock(job, field.value);
      boxes.delete(job.id);
    } catch (error) {
      said.textContent = `${sentence(error.message)} ${error.remedy || ""}`;
      field.select();
    }
    return undefined;
  };
  const box = element("form", { class: "row password", onsubmit: open }, field, button(t("Open"), { type: "submit" }), said);
  boxes.set(job.id, box);
  return box;
}

function failedRow(name, error, kind, { retry, dismiss, more = null }) {
  return element(
    "li",
    { class: "job failed" },
    element(
      "span",
      { class: "job-line" },
      element("span", { class: "kind" }, kindOf(name)),
      element("span", { class: "clip grow" }, kind === "reindex" ? t("Reindexing {name}", { name }) : name),
      retry && button(t("Try again"), { picture: "again", kind: "quiet", onclick: retry }),
      dismiss && button(t("Dismiss {name}", { name }), { picture: "close", only: true, kind: "quiet", onclick: dismiss }),
    ),
    element(
      "p",
      { class: "cause", dir: "auto" },
      element("strong", { class: "failure" }, `${sentence(error?.message || t("it failed"))} `),
      error?.remedy || "",
    ),
    more,
  );
}

export function transferRow(transfer) {
  const name = transfer.files.length === 1 ? transfer.files[0].path : count(transfer.files.length, "file");
  if (transfer.error)
    return failedRow(name, transfer.error, "upload", {
      retry: transfer.final ? null : () => transfers.retry(transfer),
      dismiss: () => transfers.dismiss(transfer),
    });
  return row(name, t("sending"), transfer.share);
}
