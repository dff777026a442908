/** The left column: collections to narrow down to, the documents at a glance, and what is being done. */

import { element, fill, settled } from "./dom.js";
import { Documents } from "./documents.js";
import { showDocument } from "./document.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { transfers } from "./upload.js";
import { VirtualList } from "./virtual.js";
import { count, figure, kindOf } from "./words.js";

export class Shelf {
  /** @param {HTMLElement} body @param {HTMLElement} foot @param {HTMLElement} conversations */
  constructor(body, foot, conversations) {
    this.foot = foot;
    this.collections = element("ul", { class: "collections" });
    this.documents = new Documents(() => this.list.update(this.documents.total));
    this.list = new VirtualList({ rowHeight: 32, label: "Documents", draw: (index) => this.#row(index) });
    fill(
      body,
      conversations,
      element(
        "section",
        { class: "shelf-section", "aria-label": "Collections" },
        element("h2", {}, "Collections"),
        this.collections,
      ),
      element(
        "section",
        { class: "shelf-section shelf-documents", "aria-label": "Documents" },
        element("h2", {}, "Documents"),
        (this.none = element("p", { class: "shelf-none", hidden: true }, "None yet")),
        this.list.root,
      ),
    );
    state.on("status", () => this.#draw());
    state.on("scope", () => this.#draw());
    state.on(
      "documents",
      settled(600, () => this.documents.reload()),
    );
    jobs.onChange(() => this.#drawFoot());
    transfers.onChange(() => this.#drawFoot());
  }

  #draw() {
    const { collection } = state.scope;
    const rows = [
      { name: null, words: "Everything", documents: state.documents() },
      ...(state.status?.collections || []).map((row) => ({ ...row, words: row.name })),
    ];
    // Drawn anew only when something changed: the focus may be on one of them.
    const signature = JSON.stringify([collection, rows.map((row) => [row.words, row.documents])]);
    if (signature !== this.drawn)
      fill(
        this.collections,
        rows.map((row) => element("li", {}, this.#collection(row, collection))),
      );
    this.drawn = signature;
    if (this.documents.collection !== collection || this.documents.total !== state.documents(collection))
      this.documents.reload({ collection });
    this.none.hidden = state.documents(collection) > 0;
    this.#drawFoot();
  }

  #collection(row, chosen) {
    const pick = () => state.setScope({ collection: row.name, document: null });
    return element(
      "button",
      { type: "button", "aria-pressed": String(row.name === chosen), onclick: pick },
      element("span", { class: "clip" }, row.words),
      element("span", { class: "number" }, figure(row.documents)),
    );
  }

  #row(index) {
    const found = this.documents.at(index);
    if (!found) return element("span", { class: "shelf-row soft" }, "…");
    const row = element(
      "button",
      { type: "button", class: "shelf-row", title: found.filename },
      element("span", { class: "kind" }, kindOf(found.filename)),
      element("span", { class: "clip" }, found.filename),
    );
    row.addEventListener("click", () => showDocument(found.id, { origin: row }));
    return row;
  }

  #drawFoot() {
    const waiting =
      jobs.unfinished.length +
      transfers.all.filter((one) => !one.error).reduce((sum, one) => sum + one.files.length, 0);
    const failed = jobs.failed.length;
    badge(waiting);
    const busy = waiting > 0 ? `Taking in ${count(waiting, "document")}` : "";
    const broken = failed > 0 ? count(failed, "failure") : "";
    const rest = state.status?.chunks ? count(state.status.chunks, "chunk") : "";
    const link = (words, kind) => words && element("a", { href: "#/library", class: kind }, words);
    fill(this.foot, link(busy, null), busy && broken && ", ", link(broken, "failure"), !busy && !broken && rest);
  }
}

/** The number of documents on their way, at the name of the view that shows them. */
function badge(waiting) {
  const link = document.querySelector('#views a[data-view="library"]');
  link?.querySelector(".badge")?.remove();
  if (waiting > 0)
    link?.append(
      element(
        "span",
        { class: "badge number", "aria-label": `${count(waiting, "document")} on the way` },
        waiting > 99 ? "99+" : waiting,
      ),
    );
}
