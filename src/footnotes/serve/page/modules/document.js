/** One document: what was extracted from it, how it was cut, and what may be done with it. */

import { button, choice, confirmed, element, fill, showDialog } from "./dom.js";
import { download, getJson, isAbort, remove } from "./api.js";
import { chunkViewer } from "./chunks.js";
import { panel } from "./panel.js";
import { finder } from "./reading.js";
import { readerOf } from "./source.js";
import { state } from "./state.js";
import { refreshStatus } from "./status.js";
import { bytes, count, day, figure } from "./words.js";

/** Open a document to be read; `span` is shown and marked. */
export async function showDocument(id, { origin = null, span = null } = {}) {
  const body = element("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": "Document" });
  const signal = panel.show({ title: "…", body, origin, label: "Document" });
  let found;
  try {
    found = await getJson(`/v1/documents/${encodeURIComponent(id)}`, signal);
  } catch (error) {
    const said =
      error.status === 404
        ? "This document is not in the library any more. It may have been deleted or replaced."
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
    label: `Document: ${found.filename}`,
  });
  const shown = span ? { ...span, document_id: found.id, filename: found.filename, quote: "", page: null } : null;
  try {
    const viewer = await readerOf(found, shown, signal);
    if (signal.aborted) return;
    const more = button("Details", { kind: "quiet", onclick: () => details(found, origin) });
    panel.pin(
      element("div", { class: "document-actions" }, more, actions(found)),
      finder(found, signal, (place) => viewer.reveal(place)),
    );
    fill(body, viewer.root);
  } catch (error) {
    if (!isAbort(error)) fill(body, element("p", { class: "trouble failure" }, `${error.message}. ${error.remedy || ""}`));
  }
}

/** What was extracted, and how it was cut. */
function details(found, origin) {
  const content = element("div", { class: "document-content" });
  const body = element("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": found.filename });
  const signal = panel.show({
    title: found.title || found.filename,
    subtitle: found.filename,
    body,
    origin,
    label: `Document: ${found.filename}`,
  });
  /** @type {Record<string, () => void>} */
  const views = { Report: () => fill(content, report(found)), Chunks: () => chunkViewer(found, content, signal) };
  const back = found.characters > 0 && button("Read", { kind: "quiet", onclick: () => read(found, origin, null) });
  fill(
    body,
    element("div", { class: "document-actions" }, back, choice("What is shown", views), actions(found)),
    content,
  );
  views.Report();
}

function actions(found) {
  const narrow = button("Ask this one", {
    kind: "quiet",
    onclick: () => (
      state.setScope({ document: { id: found.id, filename: found.filename } }),
      (location.hash = "#/ask")
    ),
  });
  return element(
    "div",
    { class: "row" },
    narrow,
    button("Download", { picture: "download", only: true, kind: "quiet", onclick: () => download(found) }),
    state.may("write") && button("Delete", { kind: "quiet danger", onclick: () => deleteDocument(found) }),
  );
}

export async function deleteDocument(found) {
  const sure = await confirmed(
    `Delete ${found.filename}?`,
    "Its text, chunks, vectors and the original go for good. Answers can no longer cite it.",
    "Delete",
  );
  if (!sure) return;
  try {
    await remove(`/v1/documents/${encodeURIComponent(found.id)}`);
    if (state.scope.document?.id === found.id) state.setScope({ document: null });
    panel.close();
    state.changed("documents");
    refreshStatus();
  } catch (error) {
    const dialog = showDialog("It was not deleted", element("p", {}, `${error.message}. ${error.remedy || ""}`), [
      button("Close", { onclick: () => dialog.close() }),
    ]);
  }
}

/** The extraction report, as a list of what is known. */
function report(found) {
  const rows = [
    ["State", found.status],
    ["Collection", found.collection],
    ["Kind", found.mime],
    ["Size", bytes(found.bytes)],
    ["Characters", figure(found.characters)],
    ["Pages", found.pages],
    ["Chunks", figure(found.chunks)],
    ["Vectors by", found.embedding_model && `${found.embedding_model}, ${found.embedding_dim} dimensions`],
    ["Came from", found.source.replace(/^upload:/, "")],
    ["Added", day(found.created_at)],
    ["Version", found.version > 1 ? found.version : null],
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
    element(
      "dl",
      { class: "facts-list" },
      rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]),
    ),
  );
}

function warnings(found) {
  const near = found.near_duplicate_of;
  const said = [
    ...found.warnings,
    ...(near ? [`nearly the same as ${near.filename} (${Math.round(near.similarity * 100)} percent)`] : []),
  ];
  if (said.length === 0 && found.error) return null;
  if (said.length === 0) return element("p", { class: "small soft" }, "Everything in the file was read.");
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
