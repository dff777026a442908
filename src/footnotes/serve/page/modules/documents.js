/**
 * The documents as one long list, newest first, fetched a page at a time as they come into view. A library of ten
 * thousand documents costs what is looked at.
 */

import { getJson, isAbort } from "./api.js";
import { state } from "./state.js";

const PAGE = 100;
const RETRY = 2_000;
/** With a filter the number of rows is not known before they are all there. */
const MOST_FILTERED = 5_000;

export class Documents {
  /** @type {Map<number, any[] | null>} pages by number in the server's order; null while one is on its way */
  #pages = new Map();
  #abort = new AbortController();
  #total = 0;
  /** @type {any[] | null} */
  #filtered = null;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.collection = /** @type {string | null} */ (null);
    this.name = "";
  }

  get total() {
    return this.#filtered ? this.#filtered.length : this.#total;
  }

  /** Begin anew: with another filter, or because the library changed. */
  reload({ collection = this.collection, name = this.name } = {}) {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.collection = collection;
    this.name = name;
    this.#pages.clear();
    this.#filtered = null;
    this.#total = name ? 0 : state.documents(collection);
    if (name) this.#filter();
    this.onChange();
  }

  /** The document of a row, or undefined while it is on its way. */
  at(row) {
    if (this.#filtered) return this.#filtered[row];
    const place = this.#total - 1 - row;
    const page = Math.floor(place / PAGE);
    if (!this.#pages.has(page)) this.#load(page);
    return this.#pages.get(page)?.[place % PAGE];
  }

  #query(offset, limit) {
    const query = new URLSearchParams({ offset: String(offset), limit: String(limit) });
    if (this.collection) query.set("collection", this.collection);
    if (this.name) query.set("where", JSON.stringify({ filename: { $glob: `*${anyCase(this.name)}*` } }));
    return `/v1/documents?${query}`;
  }

  async #load(page) {
    this.#pages.set(page, null);
    const signal = this.#abort.signal;
    try {
      const { documents } = await getJson(this.#query(page * PAGE, PAGE), signal);
      if (signal.aborted) return;
      this.#pages.set(page, documents);
      this.onChange();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted)
        setTimeout(() => this.#pages.get(page) === null && this.#pages.delete(page) && this.onChange(), RETRY);
    }
  }

  async #filter() {
    const signal = this.#abort.signal;
    const found = [];
    try {
      for (let offset = 0; offset !== null && found.length < MOST_FILTERED;) {
        const answer = await getJson(this.#query(offset, 1000), signal);
        found.push(...answer.documents);
        offset = answer.next_offset;
      }
      if (signal.aborted) return;
      this.#filtered = found.reverse();
      this.onChange();
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.#filtered = [];
      this.onChange();
    }
  }
}

/** A glob that matches a name whatever its case; its own signs are taken literally. */
function anyCase(name) {
  return [...name]
    .map((sign) => {
      const [low, high] = [sign.toLowerCase(), sign.toUpperCase()];
      if (low !== high && low.length === 1 && high.length === 1) return `[${low}${high}]`;
      return "*?[".includes(sign) ? `[${sign}]` : sign;
    })
    .join("");
}
