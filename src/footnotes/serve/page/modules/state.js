/** What several parts of the page share. A part reads the fields and listens for changes; nothing else is global. */

/**
 * @typedef {object} Scope what a question or a search is about
 * @property {string | null} collection
 * @property {{id: string, filename: string} | null} document
 */

class State extends EventTarget {
  /** @type {any} the answer of /v1/status */
  status = null;
  /** @type {Scope} */
  scope = { collection: null, document: null };
  /** @type {Record<string, {status: string, reason: string | null, ms: number}> | null} legs of the last search or answer */
  legs = null;
  online = true;
  #known = () => {};
  /** Settled when the server has first said what it is. */
  known = new Promise((resolve) => (this.#known = () => resolve(undefined)));

  /** @param {string} name @param {() => void} action */
  on(name, action) {
    this.addEventListener(name, action);
  }

  changed(name) {
    this.dispatchEvent(new Event(name));
  }

  setStatus(status) {
    this.status = status;
    this.#known();
    this.changed("status");
  }

  setScope(scope) {
    this.scope = { ...this.scope, ...scope };
    this.changed("scope");
  }

  setLegs(legs) {
    this.legs = legs;
    this.changed("legs");
  }

  setOnline(online) {
    if (this.online === online) return;
    this.online = online;
    this.changed("online");
  }

  /** Whether the key may do something; one that may administer may do everything, as the server has it. */
  may(scope) {
    const scopes = this.status?.scopes || [];
    return scopes.includes(scope) || scopes.includes("admin");
  }

  /** How many documents there are, in all or in a collection. */
  documents(collection = null) {
    const rows = this.status?.collections || [];
    return rows
      .filter((row) => collection === null || row.name === collection)
      .reduce((sum, row) => sum + row.documents, 0);
  }

  /** The fields that narrow a search or a question down. */
  filter() {
    const { collection, document: only } = this.scope;
    return { ...(collection ? { collection } : {}), ...(only ? { where: { document_id: only.id } } : {}) };
  }
}

export const state = new State();
