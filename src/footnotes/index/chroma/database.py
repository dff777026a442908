"""The dense leg in a Chroma: a server somebody runs, or a folder in this process. One collection a generation.

Chroma has vectors and filters, and no lexical leg of its own that could be weighed as ours is: words stay with the
store. The mark of a collection, its metadata, says whose it is and up to which change it was filled.

A server may be used by any number of processes. A folder may too: see `footnotes.index.chroma.folder`.
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
from footnotes.index.chroma.filters import (
    DOCUMENT,
    FACETS,
    MOST_TERMS,
    SEQ,
    batches,
    best,
    cosines,
    is_among,
    lets_nothing_through,
    sayable,
    where_of,
    wheres_of,
)
from footnotes.index.chroma.folder import FolderConnection
from footnotes.index.chroma.metadata import flattened
from footnotes.index.chroma.server import ServerConnection
from footnotes.index.chroma.settings import LEGS, Endpoint, endpoint_of
from footnotes.index.remote import RemoteIndex, Scope
from footnotes.settings import Settings

EXACT_KEYS = 300
"""So few allowed chunks are fetched and compared: quicker than the graph, and exact."""
OVERSAMPLED_MOST = 1_000
"""So many are taken from the graph at most, in the hope that enough of them are allowed."""
NAMED_KEYS = 10_000
"""So many allowed chunks are named in a search at most."""


class ChromaDatabase:
    """A Chroma, shared between threads. Nothing is opened before the first call needs it."""

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
    """One generation's collection. Readers share it; one fills it at a time, guarded by the store's lock."""

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
        """Ask for the last change the collection has seen: 0 where it is empty, filled by another model, or missing.

        One of this name that Footnotes did not make raises `IndexForeign`.
        """
        self._known = self._calls.look()
        return self.position

    # ── searching

    def search(self, query: Vector | Facets | Weights, limit: int, allowed: Allowed | None = None) -> Found:
        """The nearest chunks by cosine, best first, or those with a facet, and only those `allowed`."""
        if isinstance(query, Facets):
            keys = self._with_facets(query.names, limit, allowed)
            return Found(keys, [1.0] * len(keys))
        if isinstance(query, Mapping):
            raise _no_words()
        return self._nearest(query, limit, allowed)

    def score(self, query: Weights, keys: Sequence[int]) -> dict[int, float]:
        raise _no_words()

    def _nearest(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        if limit < 1 or lets_nothing_through(allowed):
            return Found()
        try:
            return self._search(vector, limit, allowed)
        except IndexMissing:
            if not self.refresh():
                raise
            return self._search(vector, limit, allowed)  # another process made it again

    def _search(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        known, vector = self._filled(), np.asarray(vector, dtype=np.float32)
        if known is None:
            return Found()
        if allowed is None:
            return self._search_unfiltered(known, vector, limit)
        if not allowed.listed:
            return self._as_said(known, vector, limit, allowed)
        if len(allowed.keys) <= EXACT_KEYS:
            return self._compare(known, vector, limit, allowed.keys)
        return (
            self._by_facets(known, vector, limit, allowed)
            or self._by_luck(known, vector, limit, allowed.keys)
            or self._by_name(known, vector, limit, allowed.keys)
            or self._compare(known, vector, limit, allowed.keys)
        )

    def _search_unfiltered(self, known: KnownCollection, vector: Vector, limit: int) -> Found:
        """What the graph finds. After deletions it may not reach all: few enough are then compared."""
        found = best(*self._calls.query(known, vector, limit), limit)
        if len(found.keys) >= limit:
            return found
        count = self._calls.count(known)
        if len(found.keys) >= count or count > EXACT_KEYS:
            return found
        keys = [key for page in self._calls.pages(known) for key in page]
        return self._compare(known, vector, limit, np.array(sorted(keys), dtype=np.int64))

    def _as_said(self, known: KnownCollection, vector: Vector, limit: int, allowed: Allowed) -> Found:
        """What Chroma lets through by facets alone: the caller looks at it once more."""
        scores: dict[int, float] = {}
        for where in wheres_of(allowed.facets):
            scores.update(zip(*self._calls.query(known, vector, limit, where=where), strict=True))
        return best(list(scores), list(scores.values()), limit)

    def _by_facets(self, known: KnownCollection, vector: Vector, limit: int, allowed: Allowed) -> Found | None:
        """Chroma filters; None where it cannot, or where too few are found."""
        where = where_of(allowed)
        if where is None:
            return None
        found = best(*self._calls.query(known, vector, limit, where=where), limit, allowed.keys)
        return found if len(found.keys) >= min(limit, len(allowed.keys)) else None

    def _by_luck(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found | None:
        """More are taken than wanted, and those dropped that are not allowed; None where too few remain."""
        share = len(allowed) / max(1, self._calls.count(known))
        wanted = int(1.5 * limit / min(1.0, share)) + 20
        if wanted > OVERSAMPLED_MOST:
            return None
        found = best(*self._calls.query(known, vector, wanted), limit, allowed)
        return found if len(found.keys) >= min(limit, len(allowed)) else None

    def _by_name(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found | None:
        """Chroma searches among the named; None where they are too many, or one of them went meanwhile."""
        if len(allowed) > NAMED_KEYS:
            return None
        named = self._calls.existing(known, ids_of(allowed.tolist()))
        if not named:
            return Found()
        try:
            found = best(*self._calls.query(known, vector, limit, ids=named), limit, allowed)
        except IndexMissing:
            raise
        except IndexFailed as failure:
            if "finding id" not in failure.message:
                raise
            return None
        return found if len(found.keys) >= min(limit, len(named)) else None

    def _compare(self, known: KnownCollection, vector: Vector, limit: int, allowed: Keys) -> Found:
        """The allowed ones are fetched and compared with the vector, one and all."""
        top = Found()
        for keys in batches(allowed):
            there, rows = self._calls.vectors(known, keys)
            if len(there):
                scores = cosines(rows, vector)
                top = best([*top.keys, *there.tolist()], [*top.scores, *scores.tolist()], limit, allowed)
        return top

    def _with_facets(self, facets: Sequence[str], limit: int, allowed: Allowed | None) -> list[int]:
        """Chunks that have any of some facets, and only those `allowed`."""
        if not facets or limit < 1 or lets_nothing_through(allowed):
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
        """Every key that can be found, sorted."""
        known = self._filled()
        if known is None:
            return np.zeros(0, dtype=np.int64)
        found = [key for page in self._calls.pages(known) for key in page]
        return np.unique(np.array(found, dtype=np.int64))

    def _filled(self) -> KnownCollection | None:
        """The collection; None where there never was one, as far as is known. One that went is missed."""
        if self._known is None or self._known.seq < 1:
            self._known = self._calls.look()
        return self._known if self.position else None

    # ── filling

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Take changes in, and mark the collection with the position. What was cut off is mended the next time."""
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
        """Take single chunks out, whatever the change log says of them."""
        known = self._filled()
        if known is not None and keys:
            self._calls.delete(known, self._calls.existing(known, ids_of(keys)))

    def clear(self) -> None:
        """Delete the collection and, in a folder, what Chroma leaves of it. One that is not ours is left alone."""
        self._known = None
        if self._calls.look() is not None:
            self._calls.drop()
            self._calls.sweep()

    def compact(self) -> None:
        """Leave no byte of what was removed in the files of a folder: the collection is copied, and the old one goes.

        That takes as long as it took to fill it. (Chroma fills the files of a new, small graph with memory as it finds
        it: what this process still has in memory can come back there, until the graph is saved or this is done again.)

        A server's files are its owner's: removed chunks stay in them (in free pages of chroma.sqlite3, in its queue,
        and in the graphs, whose folders outlive even a deleted collection) until the server is stopped, `chroma vacuum`
        is run, and folders of collections that are gone are deleted.
        """
        known = self._calls.look()
        if self._calls.endpoint.folder is None or known is None or known.seq < 1:
            return
        self._copy.drop()
        copy = self._copy.make()
        for ids, vectors, told in self._calls.records(known, self._calls.batch):
            self._copy.put(copy, ids, vectors, told)
        copy = self._copy.mark(copy, known.seq)
        self._calls.replace(copy)
        self._known = copy
        self._calls.sweep()

    def promote(self) -> None:
        """Nothing to do: each generation has a collection of its own, and nobody looks at one by another name."""


def _no_words() -> IndexFailed:
    return IndexFailed("Chroma does not serve the lexical leg", remedy='Set index_legs to ["dense"].')


# Bringing changes into a collection: in batches, and so that a document is never absent in between.


_DOCUMENTS_AT_ONCE = 100


class Filling:
    """Takes changes one by one. New records of a document are put first; what it had before is deleted then."""

    def __init__(self, calls: Calls, known: KnownCollection, dimensions: int, *, fresh: bool) -> None:
        self._calls, self._known, self._dimensions = calls, known, dimensions
        self._fresh = fresh
        """Nothing was in the collection before: what was not brought by us needs no looking for."""
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
        """Put what waits, and delete what the documents had before."""
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
        told = [_told(entry, seq) for entry, seq in self._chunks()]
        if not self._fresh or self._seen:
            self._forget_names(ids, told)
        self._calls.put(self._known, ids, vectors, told)
        self._waiting.clear()

    def _chunks(self) -> Iterable[tuple[Entry, int]]:
        return self._waiting.values()

    def _forget_names(self, ids: list[str], told: list[dict[str, object]]) -> None:
        """Chroma adds metadata to what a record has: names that are no more must be taken away by themselves."""
        before = self._calls.told(self._known, ids=ids)
        for record, now in zip(ids, told, strict=True):
            now.update(dict.fromkeys(before.get(record, {}).keys() - now.keys()))

    def _before(self) -> list[str]:
        """Records of the documents that were brought by no later change, and are not of this one."""
        documents = [number for number in self._brought if not self._fresh or number in self._seen]
        if not documents:
            return []
        found = self._calls.told(self._known, where={DOCUMENT: {"$in": documents}})
        return [record for record, told in found.items() if self._is_stale(record, told)]

    def _is_stale(self, record: str, told: dict[str, Any]) -> bool:
        seq, current = self._brought[int(told[DOCUMENT])]
        return record not in current and int(told.get(SEQ) or 0) <= seq


def _told(entry: Entry, seq: int) -> dict[str, object]:
    try:
        told: dict[str, object] = dict(flattened(entry.metadata))
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexFailed(
            f"the metadata of chunk {entry.key} cannot be kept by Chroma ({error})",
            remedy="Add the document again without numbers such as NaN in its metadata.",
        ) from error
    told |= {DOCUMENT: entry.document, SEQ: seq}
    if entry.facets:
        told[FACETS] = [sayable(facet) for facet in entry.facets]
    return told
