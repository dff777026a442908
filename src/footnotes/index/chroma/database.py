"""The dense leg in Chroma: on a server, or in a folder in this process. One collection per generation.

Chroma has vectors and filters, but no lexical leg with our weights, so the store keeps that leg. A collection's mark,
in its metadata, holds its owner and the last change applied.

Any number of processes may use a server. A folder may be shared too: see `footnotes.index.chroma.folder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from footnotes.errors import IndexFailed, IndexMissing
from footnotes.index import Allowed, Change, Entry, Facets, Found, Keys, Vector, Weights
from footnotes.index.address import need
from footnotes.index.chroma.calls import Calls, Connection, KnownCollection, Where, chunk_vector, ids_of
from footnotes.index.chroma.folder import FolderConnection
from footnotes.index.chroma.metadata import (
    DOCUMENT,
    FACETS,
    MOST_TERMS,
    SEQ,
    batches,
    best,
    cosines,
    flattened,
    is_among,
    sayable,
    where_of,
    wheres_of,
)
from footnotes.index.chroma.server import ServerConnection
from footnotes.index.chroma.settings import LEGS, Endpoint, endpoint_of
from footnotes.index.remote import RemoteIndex, Scope
from footnotes.settings import Settings

EXACT_KEYS = 300
"""Up to this many allowed chunks are fetched and compared: faster than the graph, and exact."""
OVERSAMPLED_MOST = 1_000
"""The most results to take from the graph in the hope that enough of them are allowed."""
NAMED_KEYS = 10_000
"""The most allowed chunks to list in a search."""


class ChromaDatabase:
    """A Chroma connection, shared between threads. The first call opens it."""

    legs = LEGS

    def __init__(self, endpoint: Endpoint) -> None:
        self.address = endpoint.shown
        self._endpoint = endpoint
        self._connection: Connection = (
            ServerConnection(endpoint) if endpoint.folder is None else FolderConnection(endpoint)
        )

    @classmethod
    def opened(cls, settings: Settings) -> ChromaDatabase:
        need("chromadb", "chroma")
        return cls(endpoint_of(settings))

    def index(self, scope: Scope) -> ChromaIndex:
        return ChromaIndex(self._connection, self._endpoint, scope)

    def close(self) -> None:
        self._connection.close()


class ChromaIndex(RemoteIndex):
    """One generation's collection. Readers share it; the store's lock admits one writer at a time."""

    def __init__(self, connection: Connection, endpoint: Endpoint, scope: Scope) -> None:
        name = f"{endpoint.prefix}-{scope.tenant}-g{scope.generation}"
        self._dimensions = scope.dimensions
        self._calls = Calls(connection, endpoint, name, scope.identity, scope.dimensions)
        self._copy = Calls(connection, endpoint, f"{name}-copy", scope.identity, scope.dimensions)
        self._known: KnownCollection | None = None

    @property
    def position(self) -> int:
        known = self._known
        return 0 if known is None else max(0, known.seq)

    def refresh(self) -> int:
        """Return the last change applied: 0 if the collection is empty, filled by another model, or missing.

        Raises `IndexForeign` if Footnotes did not create the collection.
        """
        self._known = self._calls.look()
        return self.position

    # ── searching

    def search(self, query: Vector | Facets | Weights, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the nearest chunks by cosine, best first, or those with a facet, and only those `allowed`."""
        if isinstance(query, Facets):
            keys = self._with_facets(query.names, limit, allowed)
            return Found(keys, [1.0] * len(keys))
        if isinstance(query, Mapping):
            raise _no_words()
        return self._nearest(query, limit, allowed)

    def score(self, query: Weights, keys: Sequence[int]) -> dict[int, float]:
        raise _no_words()

    def _nearest(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        if limit < 1 or (allowed is not None and allowed.is_empty):
            return Found()
        try:
            return self._search(vector, limit, allowed)
        except IndexMissing:
            if not self.refresh():
                raise
            return self._search(vector, limit, allowed)  # another process rebuilt it

    def _search(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        known, vector = self._filled(), np.asarray(vector, dtype=np.float32)
        if known is None:
            return Found()
        if allowed is None:
            return self._search_unfiltered(known, vector, limit)
        if not allowed.listed:
            return self._search_facets(known, vector, limit, allowed)
        if len(allowed.keys) <= EXACT_KEYS:
            return self._compare(known, vector, limit, allowed.keys)
        return (
            self._by_facets(known, vector, limit, allowed)
            or self._oversample(known, vector, limit, allowed.keys)
            or self._search_ids(known, vector, limit, allowed.keys)
            or self._compare(known, vector, limit, allowed.keys)
        )

    def _search_unfiltered(self, known: KnownCollection, vector: Vector, limit: int) -> Found:
        """Search the graph. After deletions it may not reach all chunks; if few remain, compare all of them."""
        found = best(*self._calls.query(known, vector, limit), limit)
        if len(found.keys) >= limit:
            return found
        count = self._calls.count(known)
        if len(found.keys) >= count or count > EXACT_KEYS:
            return found
        keys = [key for page in self._calls.pages(known) for key in page]
        return self._compare(known, vector, limit, np.array(sorted(keys), dtype=np.int64))

    def _search_facets(self, known: KnownCollection, vector: Vector, limit: int, allowed: Allowed) -> Found:
        """Search with facets only; the caller checks the results again."""
        scores: dict[int, float] = {}
        for where in wheres_of(allowed.facets):
            scores.update(zip(*self._calls.query(known, vector, limit, where=where), strict=True))
        return best(list(scores), list(scores.values()), limit)

    def _by_facets(self, known: KnownCollection, vector: Vector, limit: int, allowed: Allowed) -> Found | None:
        """Let Chroma filter; None if it cannot, or if it finds too few."""
        where = where_of(allowed)
        if where is None:
            return None
        found = best(*self._calls.query(known, vector, limit, where=where), limit, allowed.keys)
        return found if len(found.keys) >= min(limit, len(allowed.keys)) else None

    def _oversample(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found | None:
        """Take more results than wanted and drop those not allowed; None if too few remain."""
        share = len(allowed) / max(1, self._calls.count(known))
        count = int(1.5 * limit / min(1.0, share)) + 20
        if count > OVERSAMPLED_MOST:
            return None
        found = best(*self._calls.query(known, vector, count), limit, allowed)
        return found if len(found.keys) >= min(limit, len(allowed)) else None

    def _search_ids(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found | None:
        """Let Chroma search among listed ids; None if they are too many, or one was deleted meanwhile."""
        if len(allowed) > NAMED_KEYS:
            return None
        existing = self._calls.existing(known, ids_of(allowed.tolist()))
        if not existing:
            return Found()
        try:
            found = best(*self._calls.query(known, vector, limit, ids=existing), limit, allowed)
        except IndexMissing:
            raise
        except IndexFailed as failure:
            if "finding id" not in failure.message:
                raise
            return None
        return found if len(found.keys) >= min(limit, len(existing)) else None

    def _compare(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found:
        """Fetch all allowed chunks and compare them with the vector."""
        top = Found()
        for keys in batches(allowed):
            there, rows = self._calls.vectors(known, keys)
            if len(there):
                scores = cosines(rows, vector)
                top = best([*top.keys, *there.tolist()], [*top.scores, *scores.tolist()], limit, allowed)
        return top

    def _with_facets(self, facets: Sequence[str], limit: int, allowed: Allowed | None) -> list[int]:
        """Return chunks that have any of some facets, and only those `allowed`."""
        if not facets or limit < 1 or (allowed is not None and allowed.is_empty):
            return []
        known = self._filled()
        if known is None:
            return []
        keys = allowed.keys if allowed is not None and allowed.listed else None
        found: dict[int, None] = {}
        for where in self._having(facets, allowed):
            for page in self._calls.pages(known, where, limit if keys is None else max(limit, 1_000)):
                fine = [True] * len(page) if keys is None else is_among(page, keys)
                found.update(dict.fromkeys(key for key, good in zip(page, fine, strict=True) if good))
                if len(found) >= limit:
                    return list(found)[:limit]
        return list(found)

    def _having(self, facets: Sequence[str], allowed: Allowed | None) -> list[Where]:
        groups = (facets, *allowed.facets) if allowed is not None else (facets,)
        briefly = allowed is None or not allowed.listed or sum(map(len, groups)) <= MOST_TERMS
        return wheres_of(groups if briefly else (facets,))

    def keys(self) -> Keys:
        """Return the keys of all chunks that can be found, sorted."""
        known = self._filled()
        if known is None:
            return np.zeros(0, dtype=np.int64)
        found = [key for page in self._calls.pages(known) for key in page]
        return np.unique(np.array(found, dtype=np.int64))

    def _filled(self) -> KnownCollection | None:
        """Return the collection; None if none is known to have existed. Calls fail if a known one is gone."""
        if self._known is None or self._known.seq < 1:
            self._known = self._calls.look()
        return self._known if self.position else None

    # ── filling

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Apply changes, and mark the collection with the position. The next call repairs an interrupted one."""
        known = self._calls.look()
        fresh = known is None or known.seq < 1
        if known is not None and fresh:
            self.clear()
        filling_into = self._calls.make() if known is None or fresh else known
        filling = Filling(self._calls, filling_into, self._dimensions, fresh=fresh)
        for change in changes:
            filling.take(change)
        filling.finish()
        self._known = self._calls.mark(filling_into, position)

    def remove(self, keys: Sequence[int]) -> None:
        """Delete single chunks, whatever the change log says of them."""
        known = self._filled()
        if known is not None and keys:
            self._calls.delete(known, self._calls.existing(known, ids_of(keys)))

    def clear(self) -> None:
        """Delete the collection and, in a folder, its leftover files. A collection that is not ours stays."""
        self._known = None
        if self._calls.look() is not None:
            self._calls.drop()
            self._calls.sweep()

    def compact(self) -> None:
        """Purge all deleted data from the files of a folder: copy the collection and delete the old one.

        This takes as long as filling it did. (Chroma pads the files of a new, small graph with uninitialised memory:
        data that this process still has in memory can reappear there, until the graph is saved or this runs again.)

        A server's files belong to its owner. Deleted chunks stay in them (in free pages of chroma.sqlite3, in its
        queue, and in the graphs, whose folders outlive even a deleted collection) until the server is stopped, `chroma
        vacuum` has run, and the folders of deleted collections are removed.
        """
        known = self._calls.look()
        if self._calls.endpoint.folder is None or known is None or known.seq < 1:
            return
        self._copy.drop()
        copy = self._copy.make()
        for ids, vectors, metadatas in self._calls.records(known, self._calls.batch):
            self._copy.put(copy, ids, vectors, metadatas)
        copy = self._copy.mark(copy, known.seq)
        self._calls.replace(copy)
        self._known = copy
        self._calls.sweep()

    def promote(self) -> None:
        """Do nothing: each generation has its own collection, and there are no aliases to switch."""


def _no_words() -> IndexFailed:
    return IndexFailed("Chroma does not serve the lexical leg", remedy='Set index_legs to ["dense"].')


# ── applies changes to a collection in batches, so that a document is never missing in between ────────────────


_DOCUMENTS_AT_ONCE = 100


class Filling:
    """Applies changes one by one. Writes a document's new records first, then deletes its old ones."""

    def __init__(self, calls: Calls, known: KnownCollection, dimensions: int, *, fresh: bool) -> None:
        self._calls, self._known, self._dimensions = calls, known, dimensions
        self._fresh = fresh
        """The collection was empty at the start, so only records written here need looking up."""
        self._batch = calls.batch
        self._waiting: dict[str, tuple[Entry, int]] = {}
        self._brought: dict[int, tuple[int, set[str]]] = {}
        self._removed: set[str] = set()
        self._seen: set[int] = set()

    def take(self, change: Change) -> None:
        current: set[str] = set()
        for entry in change.entries:
            if entry.vector:
                current.add(str(entry.key))
                self._waiting[str(entry.key)] = (entry, change.seq)
                if len(self._waiting) >= self._batch:
                    self._put()
        if change.document in self._brought:
            self.finish()
        self._brought[change.document] = (change.seq, current)
        gone = chain.from_iterable(range(first, first + count) for first, count in change.removed)
        self._removed = (self._removed | {str(key) for key in gone}) - current
        if len(self._brought) >= _DOCUMENTS_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Write pending records, and delete the documents' old ones."""
        self._put()
        before = self._before()
        if self._removed:
            before += self._calls.existing(self._known, sorted(self._removed - set(before)))
        if before:
            self._calls.delete(self._known, before)
        self._seen.update(self._brought)
        self._brought.clear()
        self._removed.clear()

    def _put(self) -> None:
        if not self._waiting:
            return
        ids = list(self._waiting)
        vectors = np.stack([chunk_vector(entry.vector, self._dimensions, entry.key) for entry, _ in self._chunks()])
        metadatas = [_record_metadata(entry, seq) for entry, seq in self._chunks()]
        if not self._fresh or self._seen:
            self._forget_names(ids, metadatas)
        self._calls.put(self._known, ids, vectors, metadatas)
        self._waiting.clear()

    def _chunks(self) -> Iterable[tuple[Entry, int]]:
        return self._waiting.values()

    def _forget_names(self, ids: list[str], metadatas: list[dict[str, object]]) -> None:
        """Remove old names explicitly, because Chroma merges new metadata into a record's old metadata."""
        before = self._calls.metadata_of(self._known, ids=ids)
        for record, now in zip(ids, metadatas, strict=True):
            now.update(dict.fromkeys(before.get(record, {}).keys() - now.keys()))

    def _before(self) -> list[str]:
        """Return the documents' records that belong neither to this change nor to a later one."""
        documents = [number for number in self._brought if not self._fresh or number in self._seen]
        if not documents:
            return []
        found = self._calls.metadata_of(self._known, where={DOCUMENT: {"$in": documents}})
        return [record for record, metadata in found.items() if self._is_stale(record, metadata)]

    def _is_stale(self, record: str, metadata: dict[str, Any]) -> bool:
        seq, current = self._brought[int(metadata[DOCUMENT])]
        return record not in current and int(metadata.get(SEQ) or 0) <= seq


def _record_metadata(entry: Entry, seq: int) -> dict[str, object]:
    try:
        metadata: dict[str, object] = dict(flattened(entry.metadata))
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexFailed(
            f"the metadata of chunk {entry.key} cannot be kept by Chroma ({error})",
            remedy="Add the document again without numbers such as NaN in its metadata.",
        ) from error
    metadata |= {DOCUMENT: entry.document, SEQ: seq}
    if entry.facets:
        metadata[FACETS] = [sayable(facet) for facet in entry.facets]
    return metadata
