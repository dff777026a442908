/** Stored conversations: find, open, rename, delete. */

import { announce, button, element, fill, nextId, settled } from "./dom.js";
import { getJson, patchJson, remove } from "./api.js";
import { state } from "./state.js";
import { withUndo } from "./undo.js";
import { shortened } from "./words.js";
import { t } from "./language.js";

const SHOWN = 100;

/** A random unique name, so a conversation has an address before the server knows it. */
export function newConversationId() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const addressOf = (id) => `#/c/${id}`;

export class ConversationList {
  /** @type {any[]} */
  #rows = [];
  /** @type {Set<string>} deleted here, not yet sent */
  #hidden = new Set();
  #current = "";

  /** @param {{onDeleted: (id: string) => void, onNew: () => void}} actions */
  constructor({ onDeleted, onNew }) {
    this.actions = { onDeleted, onNew };
    this.search = element("input", {
      type: "search",
      class: "small",
      placeholder: t("Find a conversation"),
      "aria-label": t("Find a conversation"),
      maxlength: "200",
      hidden: true,
      oninput: settled(200, () => this.load()),
    });
    this.list = element("ul", { class: "talks" });
    this.none = element("p", { class: "shelf-none", hidden: true }, t("None yet"));
    this.root = element(
      "section",
      { class: "shelf-section shelf-talks", "aria-label": t("Conversations"), hidden: true },
      element(
        "div",
        { class: "row" },
        element("h2", { class: "grow" }, t("Conversations")),
        button(t("New conversation"), { picture: "plus", only: true, kind: "quiet", onclick: onNew }),
      ),
      this.search,
      this.list,
      this.none,
    );
    state.on("status", () => this.#first());
  }

  #first() {
    const keeps = Boolean(state.status?.keeps_conversations);
    this.root.hidden = !keeps;
    if (keeps && !this.loaded) this.load();
  }

  async load() {
    this.loaded = true;
    const sought = this.search.value.trim();
    try {
      const found = await getJson(`/v1/conversations?limit=${SHOWN}${sought ? `&q=${encodeURIComponent(sought)}` : ""}`);
      if (sought !== this.search.value.trim()) return;
      this.#rows = found.conversations;
      if (!sought) this.search.hidden = this.#rows.length < 6;
      this.#draw();
    } catch {
      this.loaded = false; // retry with the next status
    }
  }

  /** @param {string} id the open conversation, or "" */
  mark(id) {
    this.#current = id;
    this.#draw();
  }

  /** The known conversations, to be found by name. */
  entries() {
    return this.#rows.map((row) => ({ words: row.title, action: () => (location.hash = addressOf(row.id)) }));
  }

  #draw() {
    const rows = this.#rows.filter((row) => !this.#hidden.has(row.id));
    this.none.hidden = rows.length > 0;
    this.none.textContent = this.search.value.trim() ? t("No match") : t("None yet");
    const held = this.list.contains(document.activeElement) ? document.activeElement?.id : "";
    fill(
      this.list,
      rows.map((row) => this.#row(row)),
    );
    if (held) document.getElementById(held)?.focus();
  }

  #row(row) {
    const link = element(
      "a",
      {
        href: addressOf(row.id),
        id: `talk-${row.id}`,
        class: "clip",
        dir: "auto",
        title: row.title,
        "aria-current": row.id === this.#current ? "page" : null,
      },
      row.title,
    );
    const item = element(
      "li",
      { class: "talk" },
      link,
      button(t("Rename {name}", { name: shortened(row.title, 40) }), {
        picture: "pencil",
        only: true,
        kind: "quiet",
        onclick: () => this.#rename(row, item),
      }),
      button(t("Delete {name}", { name: shortened(row.title, 40) }), {
        picture: "bin",
        only: true,
        kind: "quiet",
        onclick: () => this.#delete(row),
      }),
    );
    link.addEventListener("keydown", (event) => {
      if (event.key === "F2") this.#rename(row, item);
      if (event.key === "Delete") this.#delete(row);
    });
    return item;
  }

  #rename(row, item) {
    const field = element("input", {
      type: "text",
      class: "small",
      id: `rename-${nextId()}`,
      value: row.title,
      maxlength: "200",
      "aria-label": t("Name of the conversation"),
    });
    let done = false;
    const end = async (keep) => {
      if (done) return;
      done = true;
      const title = field.value.trim();
      if (keep && title && title !== row.title) {
        row.title = title;
        try {
          await patchJson(`/v1/conversations/${row.id}`, { title });
          announce(t("Renamed to {name}.", { name: title }));
        } catch (error) {
          announce(t("It could not be renamed: {reason}.", { reason: error.message }));
          await this.load();
        }
      }
      this.#draw();
      document.getElementById(`talk-${row.id}`)?.focus();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") (event.stopPropagation(), end(false));
    });
    field.addEventListener("blur", () => end(true));
    fill(item, field);
    field.focus();
    field.select();
  }

  #delete(row) {
    const place = this.#rows.indexOf(row);
    this.#hidden.add(row.id);
    this.#draw();
    const next = this.#rows.slice(place + 1).find((one) => !this.#hidden.has(one.id));
    (document.getElementById(`talk-${next?.id}`) || this.root.querySelector("button"))?.focus();
    const open = row.id === this.#current;
    if (open) this.actions.onDeleted(row.id);
    withUndo(t("Deleted {name}.", { name: `“${shortened(row.title, 40)}”` }), {
      undo: () => {
        this.#hidden.delete(row.id);
        this.#draw();
        if (open) location.hash = addressOf(row.id);
        document.getElementById(`talk-${row.id}`)?.focus();
      },
      send: async (leaving) => {
        try {
          await remove(`/v1/conversations/${row.id}`, { keepalive: leaving });
          this.#rows = this.#rows.filter((one) => one !== row);
        } catch (error) {
          if (error.status !== 404) announce(t("It could not be deleted: {reason}.", { reason: error.message }));
        }
        this.#hidden.delete(row.id);
        this.#draw();
      },
    });
  }
}
