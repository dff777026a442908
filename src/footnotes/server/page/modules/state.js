/** State shared by parts of the page. A part reads the fields and listens for changes; nothing else is global. */

/**
 * @typedef {object} Scope what a question or a search is about: everything where both are empty, else any of them
 * @property {string[]} collections
 * @property {{id: string, filename: string}[]} documents
 */

class State extends EventTarget {
  /** @type {any} the response of /v1/status */
  status = null;
  /** @type {Scope} */
  scope = { collections: [], documents: [] };
  /** @type {Record<string, {status: string, reason: string | null, ms: number}> | null} legs of the last search or answer */
  legs = null;
  online = true;
  #known = () => {};
  /** Resolves when the first status has arrived. */
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

  setScope({ collections = [], documents = [] }) {
    this.scope = { collections, documents };
    this.changed("scope");
  }

  /** Add a collection to the scope, or remove it. */
  toggleCollection(name) {
    const { collections, documents } = this.scope;
    this.setScope({ collections: toggled(collections, name, (one) => one), documents });
  }

  toggleDocument(found) {
    const { collections, documents } = this.scope;
    const kept = { id: found.id, filename: found.filename };
    this.setScope({ collections, documents: toggled(documents, kept, (one) => one.id) });
  }

  get isScoped() {
    return this.scope.collections.length + this.scope.documents.length > 0;
  }

  /** The collection for new files: the selected one if it is the only one, else the server's default. */
  get collection() {
    const { collections } = this.scope;
    return collections.length === 1 ? collections[0] : null;
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

  /** Whether the key has a scope; admin includes all others, as on the server. */
  may(scope) {
    const scopes = this.status?.scopes || [];
    return scopes.includes(scope) || scopes.includes("admin");
  }

  /** Count the documents, in all or in some collections. */
  documents(collections = /** @type {string[]} */ ([])) {
    const rows = this.status?.collections || [];
    return rows
      .filter((row) => collections.length === 0 || collections.includes(row.name))
      .reduce((sum, row) => sum + row.documents, 0);
  }

  /** The request fields that restrict a search or a question. */
  filter() {
    const { collections, documents } = this.scope;
    if (documents.length === 0 && collections.length === 1) return { collection: collections[0] };
    const parts = [
      ...(collections.length > 0 ? [{ collection: { $in: collections } }] : []),
      ...(documents.length > 0 ? [{ document_id: { $in: documents.map((one) => one.id) } }] : []),
    ];
    if (parts.length === 0) return {};
    return { where: parts.length === 1 ? parts[0] : { $or: parts } };
  }
}

function toggled(list, entry, keyOf) {
  const without = list.filter((one) => keyOf(one) !== keyOf(entry));
  return without.length < list.length ? without : [...list, entry];
}

export const state = new State();
