/** The library: running uploads, and every document as a row to sort, filter, select and open. */

import { button, element, fill, settled } from "./dom.js";
import { deleteDocuments, moveDocuments, reindexDocuments, renameDocument, tagDocuments } from "./changing.js";
import { catalogue } from "./documents.js";
import { showDocument } from "./document.js";
import { Followed } from "./followed.js";
import { addAddress, editCollection, reindex } from "./forms.js";
import { count, figure, t } from "./language.js";
import { countFolders, everything, folderOf, listed, shortFolder } from "./listing.js";
import { state } from "./state.js";
import { Tray } from "./tray.js";
import { FolderTree } from "./tree.js";
import { chooseFiles } from "./upload.js";
import { VirtualList } from "./virtual.js";
import { bytes, day, kindOf, stateWords } from "./words.js";

const COLUMNS = [
  ["name", t("Name")],
  ["collection", t("Collection")],
  ["kind", t("Type")],
  ["state", t("State")],
  ["pages", t("Pages")],
  ["bytes", t("Size")],
  ["added", t("Added")],
];

export class LibraryView {
  /** @type {import("./documents.js").Row[]} */
  #rows = [];
  /** @type {Map<string, import("./documents.js").Row>} */
  #chosen = new Map();
  #choice = everything();
  #last = -1;

  constructor(root) {
    this.said = element("p", {});
    this.tools = element("div", { class: "row library-tools" });
    this.followed = new Followed();
    this.tree = new FolderTree((folder) => this.#set({ folder }));
    this.list = new VirtualList({ rowHeight: 48, label: t("All documents"), draw: (index) => this.#row(index) });
    this.name = element("input", {
      type: "search",
      placeholder: t("Find by name, path or tag"),
      "aria-label": t("Find by name, path or tag"),
      oninput: settled(80, () => this.#set({ words: this.name.value.trim() })),
    });
    const select = (label, field) => element("select", { "aria-label": label, onchange: (event) => this.#set({ [field]: event.target.value }) });
    this.kind = select(t("Type"), "kind");
    this.state = select(t("State"), "state");
    this.collection = element("select", {
      "aria-label": t("Collection"),
      onchange: () => state.setScope({ collections: this.collection.value ? [this.collection.value] : [] }),
    });
    this.bulk = element("div", { class: "bulk row", role: "group", "aria-label": t("Selected documents"), hidden: true });
    this.head = element("div", { class: "document-head" });
    this.list.root.prepend(this.head);
    this.empty = element("p", { class: "nothing", hidden: true });
    fill(
      root,
      element(
        "div",
        { class: "page library" },
        element("h1", {}, t("Library")),
        this.said,
        this.tools,
        new Tray().root,
        this.followed.root,
        element("div", { class: "list-tools" }, this.name, this.collection, this.kind, this.state),
        this.bulk,
        element("div", { class: "library-body" }, this.tree.root, element("div", { class: "library-list" }, this.list.root, this.empty)),
      ),
    );
    state.on("status", () => this.#drawTools());
    state.on("scope", () => this.#draw());
    catalogue.on(() => this.#draw());
    this.#drawHead();
  }

  /** Called when the view is shown. */
  show() {
    this.followed.show();
  }

  #set(change) {
    Object.assign(this.#choice, change);
    this.#draw();
  }

  #drawTools() {
    const { status } = state;
    const may = state.may("write");
    this.said.textContent = may
      ? t("Drop files or folders anywhere on the page. Originals are kept. A file with the same name replaces a document.")
      : t("This key may only read. To add or delete, use a key that may write.");
    if (this.tools.children.length === 0 && may) fill(this.tools, this.#buttons());
    const names = status.collections.map((row) => [row.name, `${row.name} (${figure(row.documents)})`]);
    options(this.collection, t("All collections"), names, state.collection || "");
  }

  #buttons() {
    return [
      button(t("Add files"), { kind: "primary", onclick: () => chooseFiles(false) }),
      button(t("Add a folder"), { onclick: () => chooseFiles(true) }),
      button(t("Add an address"), { onclick: () => addAddress() }),
      button(t("Collection"), { onclick: () => editCollection() }),
      button(t("Reindex"), { onclick: () => reindex() }),
    ];
  }

  #draw() {
    const all = catalogue.rows;
    const choice = this.#choice;
    choice.collections = state.scope.collections;
    this.collection.value = state.collection || "";
    options(this.kind, t("All types"), distinct(all.map((row) => kindOf(row.filename))).map((one) => [one, one]), choice.kind);
    options(this.state, t("All states"), distinct(all.map((row) => row.status)).map((one) => [one, stateWords(one)]), choice.state);
    this.tree.draw(countFolders(all), choice.folder);
    this.#rows = listed(all, choice);
    const known = new Map(all.map((row) => [row.id, row]));
    for (const id of this.#chosen.keys()) known.has(id) ? this.#chosen.set(id, known.get(id)) : this.#chosen.delete(id);
    this.list.update(this.#rows.length);
    this.empty.hidden = this.#rows.length > 0 || !catalogue.isLoaded;
    this.empty.textContent = all.length > 0 ? t("No document matches.") : t("No documents yet.");
    this.#drawHead();
    this.#drawBulk();
  }

  #drawHead() {
    const { by, down } = this.#choice;
    const held = this.head.contains(document.activeElement) && document.activeElement?.getAttribute("data-by");
    const all = element("input", {
      type: "checkbox",
      "aria-label": t("Select all shown"),
      checked: this.#rows.length > 0 && this.#rows.every((row) => this.#chosen.has(row.id)),
      onchange: () => this.#chooseAll(all.checked),
    });
    const column = ([name, words]) => {
      const sorted = by === name;
      const sort = () => this.#set({ by: name, down: sorted ? !down : name === "added" });
      const label = sorted ? t("{column}, sorted; reverse the order", { column: words }) : t("Sort by {column}", { column: words });
      return button(`${words}${sorted ? (down ? " ↓" : " ↑") : ""}`, { kind: "quiet", "data-by": name, "aria-label": label, onclick: sort });
    };
    fill(this.head, all, COLUMNS.map(column));
    if (held) /** @type {HTMLElement | null} */ (this.head.querySelector(`[data-by="${held}"]`))?.focus();
  }

  #row(index) {
    const found = this.#rows[index];
    const box = element("input", { type: "checkbox", "aria-label": t("Select {name}", { name: found.filename }), checked: this.#chosen.has(found.id) });
    box.addEventListener("click", (event) => this.#choose(index, box.checked, event.shiftKey));
    const folder = folderOf(found);
    const open = element("button", { type: "button", class: "name", "data-row": "", title: folder ? `${folder}/${found.filename}` : found.filename },
      element("span", { class: "clip", dir: "auto" }, found.filename),
      element(
        "span",
        { class: "under" },
        folder && element("span", { class: "path clip", dir: "auto" }, shortFolder(folder)),
        found.warnings > 0 && element("span", { class: "remark" }, count(found.warnings, "remark")),
        found.tags.map((tag) => element("span", { class: "tag" }, tag)),
      ),
    );
    const row = element(
      "div",
      { class: "document-row", draggable: state.may("write") ? "true" : null },
      box,
      open,
      element("span", { class: "clip" }, found.collection),
      element("span", { class: "clip" }, kindOf(found.filename)),
      element("span", { class: found.status === "failed" ? "failure clip" : "clip" }, stateWords(found.status)),
      element("span", { class: "number" }, found.pages ?? ""),
      element("span", { class: "number" }, bytes(found.bytes)),
      element("span", { class: "number" }, day(found.created_at)),
    );
    row.addEventListener("click", (event) => event.target !== box && showDocument(found.id, { origin: open }));
    row.addEventListener("dragstart", (event) => event.dataTransfer?.setData("text/x-footnotes", JSON.stringify(this.#dragged(found))));
    open.addEventListener("keydown", (event) => {
      if (event.key === " ") (event.preventDefault(), box.click());
      if (event.key === "F2" && state.may("write")) renameDocument(found);
      if (event.key === "Delete" && state.may("write")) deleteDocuments(this.#dragged(found));
    });
    return row;
  }

  /** The documents of an action on a row: the whole selection if it includes the row. */
  #dragged(found) {
    return this.#chosen.has(found.id) ? [...this.#chosen.values()] : [found];
  }

  #choose(index, on, through) {
    const from = through && this.#last >= 0 ? this.#last : index;
    for (let at = Math.min(from, index); at <= Math.max(from, index); at += 1) {
      const row = this.#rows[at];
      if (on) this.#chosen.set(row.id, row);
      else this.#chosen.delete(row.id);
    }
    this.#last = index;
    if (through) this.list.update(this.#rows.length);
    this.#drawHead();
    this.#drawBulk();
  }

  #chooseAll(on) {
    for (const row of this.#rows) on ? this.#chosen.set(row.id, row) : this.#chosen.delete(row.id);
    this.list.update(this.#rows.length);
    this.#drawBulk();
  }

  #drawBulk() {
    const chosen = [...this.#chosen.values()];
    this.bulk.hidden = chosen.length === 0;
    if (this.bulk.hidden) return;
    const clear = () => (this.#chosen.clear(), this.#draw());
    const then = (action) => () => (action(chosen), clear());
    const may = state.may("write");
    fill(
      this.bulk,
      element("strong", { class: "grow", role: "status" }, t("{documents} selected", { documents: count(chosen.length, "document") })),
      button(t("Ask about these"), { kind: "quiet", onclick: () => (state.setScope({ documents: chosen }), (location.hash = "#/ask")) }),
      may && chosen.length === 1 && button(t("Rename"), { kind: "quiet", onclick: () => renameDocument(chosen[0]) }),
      may && button(t("Move"), { kind: "quiet", onclick: () => moveDocuments(chosen) }),
      may && button(t("Tag"), { kind: "quiet", onclick: () => tagDocuments(chosen) }),
      may && button(t("Reindex"), { kind: "quiet", onclick: then(reindexDocuments) }),
      may && button(t("Delete"), { kind: "quiet danger", onclick: then(deleteDocuments) }),
      button(t("Clear selection"), { picture: "close", only: true, kind: "quiet", onclick: clear }),
    );
  }
}

function distinct(values) {
  return [...new Set(values)].sort();
}

/** Replace the options of a <select> if they differ. */
function options(select, first, entries, value) {
  const signature = JSON.stringify(entries);
  if (select.dataset.entries !== signature)
    fill(
      select,
      [["", first], ...entries].map(([each, words]) => element("option", { value: each }, words)),
    );
  select.dataset.entries = signature;
  select.value = value;
}
