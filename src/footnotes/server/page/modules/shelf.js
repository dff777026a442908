/** The left column: collections to filter by, a summary of the documents, and running work. */

import { element, fill } from "./dom.js";
import { acceptDocuments } from "./changing.js";
import { catalogue } from "./documents.js";
import { showDocument } from "./document.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { transfers } from "./upload.js";
import { VirtualList } from "./virtual.js";
import { count, figure, t } from "./language.js";
import { folderOf } from "./listing.js";

export class Shelf {
  /** @type {Set<string>} names that several documents share: their folders are shown too */
  #twice = new Set();

  /** @param {HTMLElement} body @param {HTMLElement} foot @param {HTMLElement} conversations */
  constructor(body, foot, conversations) {
    this.foot = foot;
    this.collections = element("ul", { class: "collections" });
    /** @type {import("./documents.js").Row[]} */
    this.rows = [];
    this.list = new VirtualList({ rowHeight: 32, label: t("Documents"), draw: (index) => this.#row(index) });
    fill(
      body,
      conversations,
      element(
        "section",
        { class: "shelf-section", "aria-label": t("Collections") },
        element("h2", {}, t("Collections")),
        this.collections,
      ),
      element(
        "section",
        { class: "shelf-section shelf-documents", "aria-label": t("Documents") },
        element("h2", {}, t("Documents")),
        (this.none = element("p", { class: "shelf-none", hidden: true }, t("None yet"))),
        this.list.root,
      ),
    );
    state.on("status", () => this.#draw());
    state.on("scope", () => this.#draw());
    catalogue.on(() => this.#drawDocuments());
    jobs.onChange(() => this.#drawFoot());
    transfers.onChange(() => this.#drawFoot());
  }

  #draw() {
    const { collections } = state.scope;
    const rows = state.status?.collections || [];
    // Redrawn only if something changed, because the focus may be inside.
    const signature = JSON.stringify([collections, state.isScoped, rows.map((row) => [row.name, row.documents])]);
    if (signature !== this.drawn)
      fill(
        this.collections,
        element("li", {}, this.#everything()),
        rows.map((row) => element("li", {}, this.#collection(row, collections.includes(row.name)))),
      );
    this.drawn = signature;
    this.#drawDocuments();
    this.#drawFoot();
  }

  #drawDocuments() {
    const { collections } = state.scope;
    this.rows = catalogue.rows.filter((row) => collections.length === 0 || collections.includes(row.collection));
    this.#twice = namesakes(this.rows);
    this.none.hidden = this.rows.length > 0 || !catalogue.isLoaded;
    this.list.update(this.rows.length);
  }

  #everything() {
    return element(
      "button",
      { type: "button", "data-row": "", "aria-pressed": String(!state.isScoped), onclick: () => state.setScope({}) },
      element("span", { class: "clip" }, t("Everything")),
      element("span", { class: "number" }, figure(state.documents())),
    );
  }

  #collection(row, chosen) {
    const box = element("input", { type: "checkbox", "data-row": "", checked: chosen, onchange: () => state.toggleCollection(row.name) });
    const line = element(
      "label",
      { class: chosen ? "chosen" : null },
      box,
      element("span", { class: "clip" }, row.name),
      element("span", { class: "number" }, figure(row.documents)),
    );
    acceptDocuments(line, row.name);
    return line;
  }

  #row(index) {
    const found = this.rows[index];
    const chosen = state.scope.documents.some((one) => one.id === found.id);
    const folder = folderOf(found);
    const open = element(
      "button",
      { type: "button", class: "shelf-row", "data-row": "", title: folder ? `${folder}/${found.filename}` : found.filename },
      element("span", { class: "clip", dir: "auto" }, found.filename),
      folder && this.#twice.has(found.filename) && element("span", { class: "clip path" }, folder.slice(folder.lastIndexOf("/") + 1)),
    );
    open.addEventListener("click", () => showDocument(found.id, { origin: open }));
    const box = element("input", { type: "checkbox", checked: chosen, "aria-label": t("Ask {name}", { name: found.filename }), onchange: () => state.toggleDocument(found) });
    return element("div", { class: "shelf-line" }, box, open);
  }

  #drawFoot() {
    const waiting =
      jobs.unfinished.length +
      transfers.all.filter((one) => !one.error).reduce((sum, one) => sum + one.files.length, 0);
    const failed = jobs.failed.length;
    badge(waiting);
    const busy = waiting > 0 ? t("Adding {documents}", { documents: count(waiting, "document") }) : "";
    const broken = failed > 0 ? count(failed, "failure") : "";
    const rest = state.status?.chunks ? count(state.status.chunks, "chunk") : "";
    const link = (words, kind) => words && element("a", { href: "#/library", class: kind }, words);
    fill(this.foot, link(busy, null), busy && broken && ", ", link(broken, "failure"), !busy && !broken && rest);
  }
}

/** @param {import("./documents.js").Row[]} rows @returns {Set<string>} */
function namesakes(rows) {
  const [seen, twice] = [new Set(), new Set()];
  for (const { filename } of rows) (seen.has(filename) ? twice : seen).add(filename);
  return twice;
}

/** The number of running jobs, at the name of the view that shows them. */
function badge(waiting) {
  const link = document.querySelector('#views a[data-view="library"]');
  link?.querySelector(".badge")?.remove();
  if (waiting > 0)
    link?.append(
      element(
        "span",
        { class: "badge number", "aria-label": t("{documents} being added", { documents: count(waiting, "document") }) },
        waiting > 99 ? "99+" : waiting,
      ),
    );
}
