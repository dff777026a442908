/** The library: what is being taken in, what failed and what to do, and every document as a row. */

import { button, element, fill, settled } from "./dom.js";
import { Documents } from "./documents.js";
import { showDocument } from "./document.js";
import { addAddress, editCollection, reindex } from "./forms.js";
import { jobs } from "./jobs.js";
import { jobRow, transferRow } from "./progress.js";
import { state } from "./state.js";
import { chooseFiles, transfers } from "./upload.js";
import { VirtualList } from "./virtual.js";
import { bytes, count, day, figure, kindOf } from "./words.js";

const SHOWN_JOBS = 6;

export class LibraryView {
  constructor(root) {
    this.work = element("section", { class: "work", "aria-label": "Being taken in", hidden: true });
    this.said = element("p", {});
    this.documents = new Documents(() => this.#drawList());
    this.list = new VirtualList({ rowHeight: 44, label: "All documents", draw: (index) => this.#row(index) });
    this.name = element("input", {
      type: "search",
      placeholder: "Find by name",
      "aria-label": "Find by name",
      oninput: settled(200, () => this.documents.reload({ name: this.name.value.trim() })),
    });
    this.collection = element("select", {
      "aria-label": "Collection",
      onchange: () => state.setScope({ collection: this.collection.value || null }),
    });
    this.tools = element("div", { class: "row library-tools" });
    this.empty = element("p", { class: "nothing", hidden: true });
    fill(
      root,
      element(
        "div",
        { class: "page library" },
        element("h1", {}, "Library"),
        this.said,
        this.tools,
        this.work,
        element("div", { class: "row list-tools" }, this.name, this.collection),
        element(
          "div",
          { class: "document-head", "aria-hidden": "true" },
          ["Name", "Collection", "Pages", "Chunks", "Size", "Added"].map((words) => element("span", {}, words)),
        ),
        this.list.root,
        this.empty,
      ),
    );
    state.on("status", () => this.#draw());
    state.on("scope", () => this.#draw());
    state.on(
      "documents",
      settled(600, () => this.documents.reload()),
    );
    jobs.onChange(() => this.#drawWork());
    transfers.onChange(() => this.#drawWork());
  }

  #draw() {
    const { status, scope } = state;
    if (!status) return;
    const may = state.may("write");
    this.said.textContent = may
      ? "Drop files or folders anywhere on the page. Originals are kept; the same name again replaces a document."
      : "This key may read. To add or delete, use one that may write.";
    if (this.tools.children.length === 0 && may) fill(this.tools, this.#buttons());
    const names = status.collections.map((row) => [row.name, `${row.name} (${figure(row.documents)})`]);
    const signature = JSON.stringify(names);
    if (signature !== this.drawn)
      fill(
        this.collection,
        [["", "All collections"], ...names].map(([value, words]) => element("option", { value }, words)),
      );
    this.drawn = signature;
    this.collection.value = scope.collection || "";
    const stale =
      this.documents.collection !== scope.collection ||
      (!this.documents.name && this.documents.total !== state.documents(scope.collection));
    if (stale) this.documents.reload({ collection: scope.collection });
  }

  #buttons() {
    return [
      button("Add files", { kind: "primary", onclick: () => chooseFiles(false) }),
      button("Add a folder", { onclick: () => chooseFiles(true) }),
      button("Add an address", { onclick: () => addAddress() }),
      button("Collection", { picture: "settings", onclick: () => editCollection() }),
      button("Reindex", { picture: "again", onclick: () => reindex() }),
    ];
  }

  #drawList() {
    this.list.update(this.documents.total);
    const none = this.documents.total === 0;
    this.empty.hidden = !none;
    this.empty.textContent = this.documents.name ? "No document has this in its name." : "No documents yet.";
  }

  #row(index) {
    const found = this.documents.at(index);
    if (!found) return element("span", { class: "document-row soft" }, "…");
    const remarks =
      found.warnings.length > 0 ? element("span", { class: "remark" }, count(found.warnings.length, "remark")) : null;
    const waiting =
      found.status !== "ready"
        ? element("span", { class: `remark ${found.status === "failed" ? "failure" : ""}` }, found.status)
        : null;
    const row = element(
      "button",
      { type: "button", class: "document-row" },
      element(
        "span",
        { class: "name" },
        element("span", { class: "kind" }, kindOf(found.filename)),
        element("span", { class: "clip" }, found.filename),
        waiting,
        remarks,
      ),
      element("span", { class: "clip" }, found.collection),
      element("span", { class: "number" }, found.pages ?? ""),
      element("span", { class: "number" }, figure(found.chunks)),
      element("span", { class: "number" }, bytes(found.bytes)),
      element("span", { class: "number" }, day(found.created_at)),
    );
    row.addEventListener("click", () => showDocument(found.id, { origin: row }));
    return row;
  }

  #drawWork() {
    const { unfinished, failed, finished } = jobs;
    const running = unfinished.filter((job) => job.state === "running");
    const shown = [...running, ...unfinished.filter((job) => job.state === "queued")].slice(0, SHOWN_JOBS);
    const rows = [...transfers.all.map(transferRow), ...failed.map(jobRow), ...shown.map(jobRow)];
    const hidden = unfinished.length - shown.length;
    const done = finished.slice(0, Math.max(0, 4 - unfinished.length));
    this.work.hidden = rows.length === 0 && done.length === 0;
    fill(
      this.work,
      element(
        "div",
        { class: "row" },
        element("h2", { class: "grow" }, heading(unfinished, failed)),
        finished.length > 0 &&
          unfinished.length === 0 &&
          button("Clear", { kind: "quiet small", onclick: () => jobs.forgetFinished() }),
      ),
      element(
        "ul",
        { class: "jobs" },
        rows,
        hidden > 0 && element("li", { class: "soft small" }, `and ${figure(hidden)} more`),
        done.map(jobRow),
      ),
    );
  }
}

function heading(unfinished, failed) {
  if (unfinished.length > 0) return `Taking in ${count(unfinished.length, "document")}`;
  return failed.length > 0 ? `${count(failed.length, "document")} could not be taken in` : "Taken in";
}
