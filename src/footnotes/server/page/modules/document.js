/** One document: its extraction, its chunks, and the actions on it. */

import { button, choice, element, fill } from "./dom.js";
import { download, getJson, isAbort } from "./api.js";
import { deleteDocuments, renameDocument } from "./changing.js";
import { chunkViewer } from "./chunks.js";
import { facts } from "./facts.js";
import { outline } from "./outline.js";
import { panel } from "./panel.js";
import { finder } from "./reading.js";
import { readerOf } from "./reader.js";
import { watchSelection } from "./selecting.js";
import { state } from "./state.js";
import { count, figure, t } from "./language.js";
import { bytes, day, moment, stateWords } from "./words.js";

/** Open a document; shows and marks `span`. */
export async function showDocument(id, { origin = null, span = null } = {}) {
  const body = element("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": t("Document") });
  const signal = panel.show({ title: "…", body, origin, label: t("Document") });
  let found;
  try {
    found = await getJson(`/v1/documents/${encodeURIComponent(id)}`, signal);
  } catch (error) {
    const said =
      error.status === 404
        ? t("This document is not in the library any more. It may have been deleted or replaced.")
        : `${error.message}. ${error.remedy || ""}`;
    if (!isAbort(error)) fill(body, element("p", { class: "trouble failure" }, said));
    return;
  }
  if (signal.aborted) return;
  if (found.characters > 0) await read(found, origin, span);
  else details(found, origin);
}

async function read(found, origin, span) {
  const body = element("div", {
    class: "panel-body source",
    tabindex: "0",
    role: "region",
    "aria-label": found.filename,
  });
  const signal = panel.show({
    title: found.title || found.filename,
    subtitle: found.filename,
    body,
    origin,
    label: t("Document: {name}", { name: found.filename }),
  });
  const shown = span ? { ...span, document_id: found.id, filename: found.filename, quote: "", page: null } : null;
  /** @type {any} */
  let viewer = null;
  const more = button(t("Details"), { kind: "quiet", onclick: () => details(found, origin) });
  const show = (place) => viewer?.reveal(place);
  const contents = outline(found, signal, show);
  panel.pin(
    element("div", { class: "document-actions" }, element("span", { class: "row" }, contents.button, more), actions(found)),
    contents.list,
    finder(found.id, signal, show),
  );
  try {
    viewer = await readerOf(found, shown, signal);
    if (signal.aborted) return;
    panel.viewer = viewer;
    fill(body, mailHead(found), viewer.root);
    watchSelection(body, found, signal);
  } catch (error) {
    if (!isAbort(error)) fill(body, element("p", { class: "trouble failure" }, `${error.message}. ${error.remedy || ""}`));
  }
}

/** Sender and recipients of a message. */
function mailHead(found) {
  if (!/^(message\/rfc822|application\/vnd.ms-outlook)/.test(found.mime)) return null;
  const { author, to, cc, date, created } = found.metadata;
  const rows = [[t("From"), author], [t("To"), to], [t("Copy to"), cc], [t("Subject"), found.title], [t("Date"), moment(date || created) || date]];
  return element("div", { class: "mail-head" }, facts(rows.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value])));
}

/** The extraction and the chunks. */
function details(found, origin) {
  const content = element("div", { class: "document-content" });
  const body = element("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": found.filename });
  const signal = panel.show({
    title: found.title || found.filename,
    subtitle: found.filename,
    body,
    origin,
    label: t("Document: {name}", { name: found.filename }),
  });
  /** @type {Record<string, () => void>} */
  const views = { [t("Report")]: () => fill(content, report(found)), [t("Chunks")]: () => chunkViewer(found, content, signal) };
  const back = found.characters > 0 && button(t("Read"), { kind: "quiet", onclick: () => read(found, origin, null) });
  fill(
    body,
    element("div", { class: "document-actions" }, back, choice(t("View"), views), actions(found)),
    content,
  );
  fill(content, report(found));
}

function actions(found) {
  const narrow = button(t("Ask about this document"), {
    kind: "quiet",
    onclick: () => (
      state.setScope({ documents: [{ id: found.id, filename: found.filename }] }),
      (location.hash = "#/ask")
    ),
  });
  return element(
    "div",
    { class: "row" },
    narrow,
    button(t("Download"), { picture: "download", only: true, kind: "quiet", onclick: () => download(found) }),
    state.may("write") && button(t("Rename"), { kind: "quiet", onclick: () => renameDocument(found) }),
    state.may("write") && button(t("Delete"), { kind: "quiet danger", onclick: () => deleteDocuments([found]) }),
  );
}

/** The extraction report, as a list of facts. */
function report(found) {
  const rows = [
    [t("State"), stateWords(found.status)],
    [t("Collection"), found.collection],
    [t("Type"), found.mime],
    [t("Size"), bytes(found.bytes)],
    [t("Characters"), figure(found.characters)],
    [t("Pages"), found.pages],
    [t("Chunks"), figure(found.chunks)],
    [t("Embedding model"), found.embedding_model && t("{model}, {number} dimensions", { model: found.embedding_model, number: found.embedding_dim })],
    [t("Source"), found.source.replace(/^upload:/, "")],
    [t("Added"), day(found.created_at)],
    [t("Version"), found.version > 1 ? found.version : null],
    ...Object.entries(found.metadata).map(([name, value]) => [
      name,
      typeof value === "object" ? JSON.stringify(value) : value,
    ]),
  ];
  return element(
    "div",
    {},
    found.error &&
      element(
        "div",
        { class: "trouble" },
        element("p", { class: "failure" }, `${found.error.message}.`),
        element("p", {}, found.error.remedy),
      ),
    warnings(found),
    facts(rows),
  );
}

function warnings(found) {
  const near = found.near_duplicate_of;
  const said = [
    ...found.warnings,
    ...(near ? [t("nearly the same as {name} ({percent} percent)", { name: near.filename, percent: Math.round(near.similarity * 100) })] : []),
  ];
  if (said.length === 0 && found.error) return null;
  if (said.length === 0) return element("p", { class: "small soft" }, t("Everything in the file was read."));
  return element(
    "div",
    { class: "warnings" },
    element("h3", {}, count(said.length, "remark")),
    element(
      "ul",
      {},
      said.map((text) => element("li", {}, text)),
    ),
  );
}
