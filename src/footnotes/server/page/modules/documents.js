/**
 * All documents as short rows, newest first, fetched once and again when the library changes. Ten thousand rows are
 * some hundred kilobytes. Lists draw only visible rows, and sort and filter without the server.
 */

import { getJson } from "./api.js";
import { settled } from "./dom.js";
import { state } from "./state.js";

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} filename
 * @property {string} path
 * @property {string} collection
 * @property {string} mime
 * @property {string} status
 * @property {number | null} pages
 * @property {number} bytes
 * @property {number} chunks
 * @property {string} created_at
 * @property {number} warnings
 * @property {string[]} tags
 */

class Catalogue extends EventTarget {
  /** @type {Row[]} */
  #all = [];
  /** @type {Set<string>} deleted here, not yet sent */
  #hidden = new Set();
  #loading = false;
  #stale = false;
  #counted = -1;
  isLoaded = false;

  constructor() {
    super();
    state.on("status", () => this.#check());
    state.on(
      "documents",
      settled(600, () => this.load()),
    );
  }

  /** @returns {Row[]} */
  get rows() {
    return this.#hidden.size === 0 ? this.#all : this.#all.filter((row) => !this.#hidden.has(row.id));
  }

  find(id) {
    return this.#all.find((row) => row.id === id);
  }

  on(action) {
    this.addEventListener("change", action);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Iterable<string>} ids @param {boolean} hidden */
  hide(ids, hidden) {
    for (const id of ids) hidden ? this.#hidden.add(id) : this.#hidden.delete(id);
    this.changed();
  }

  #check() {
    if (!this.isLoaded || state.documents() !== this.#counted) this.load();
  }

  async load() {
    if (this.#loading) return void (this.#stale = true);
    this.#loading = true;
    this.#stale = false;
    this.#counted = state.documents();
    try {
      const found = [];
      for (let offset = 0; offset !== null;) {
        const answer = await getJson(`/v1/catalogue${offset ? `?offset=${offset}` : ""}`);
        found.push(...answer.documents);
        offset = answer.next_offset;
      }
      this.#all = found.reverse();
      this.isLoaded = true;
      this.changed();
    } catch {
      // retry with the next status
    }
    this.#loading = false;
    if (this.#stale) this.load();
  }
}

export const catalogue = new Catalogue();
