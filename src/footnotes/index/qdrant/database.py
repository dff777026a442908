"""A Qdrant database that serves the dense leg, the lexical leg, or both.

`index = "qdrant://host:6333"` names it, or `qdrant+https://…`; a path after the host is the prefix of collection names,
by default `footnotes`. `index_options` are those of `footnotes.index.qdrant.settings.Options`.

All chunks of one embedding model are in one collection, `<prefix>-<model>`, separated by their payload: every search,
count and deletion names tenant and generation. Each generation also has a mark, a point without vectors that holds
the source of the generation and the last change applied. An alias `<prefix>.<tenant>` leads external readers to the
published collection. Collections are never deleted: without tenants a collection is empty.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from footnotes.errors import IndexMissing
from footnotes.index import Allowed, Change, Entry, Facets, Found, Keys, Vector, Weights
from footnotes.index.address import check_legs, need
from footnotes.index.qdrant.calls import Calls
from footnotes.index.qdrant.collection import Collections
from footnotes.index.qdrant.points import (
    SHELF,
    ForeignResponse,
    any_document,
    any_key,
    key_of,
    mark_id,
    not_after,
    point_of,
    sayable,
    within,
)
from footnotes.index.qdrant.search import Search
from footnotes.index.qdrant.settings import LEGS, Options, endpoint_of, options_of
from footnotes.index.remote import RemoteIndex, Scope
from footnotes.settings import Settings

if TYPE_CHECKING:
    from qdrant_client import models


REMOVED_AT_ONCE = 5_000


class QdrantDatabase:
    """A connection to one Qdrant, shared by all indexes and threads."""

    legs = LEGS

    def __init__(self, calls: Calls, options: Options) -> None:
        self.address = calls.endpoint.shown
        self._calls = calls
        self._options = options
        self._collections = Collections(calls, options)

    @classmethod
    def opened(cls, settings: Settings) -> QdrantDatabase:
        """Build it from the settings, without network access."""
        need("qdrant_client", "qdrant")
        check_legs(settings, "Qdrant", LEGS)
        options = options_of(settings.index_options)
        return cls(Calls(endpoint_of(settings), options.grpc_port), options)

    def index(self, scope: Scope) -> QdrantIndex:
        return QdrantIndex(self._calls, self._collections, scope, self._options)

    def close(self) -> None:
        self._calls.close()


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of an index."""

    fill: str
    """Changes whenever the index is filled from the beginning: a writer that started before must stop."""
    seq: int = 0


class QdrantIndex(RemoteIndex):
    """One generation of one tenant in a Qdrant."""

    def __init__(self, calls: Calls, collections: Collections, scope: Scope, options: Options) -> None:
        self._calls = calls
        self._collections = collections
        self._scope = scope
        self._options = options
        self._name = collections.name(scope)
        self._points = Points(calls, self._name, options.ordering)
        self._search = Search(calls, self._name, scope, options)
        self._asked = False
        self._known: Mark | None = None
        self._writes = 0
        self._guard = threading.Lock()

    @property
    def position(self) -> int:
        known = self._known
        return known.seq if known else 0

    def refresh(self) -> int:
        """Read the mark. The result is dropped if another thread writes meanwhile, because it may be outdated."""
        writes = self._writes
        mark = self._mark(patient=False)
        with self._guard:
            if self._writes == writes:
                self._known, self._asked = mark, True
        return self.position

    # ── reading

    def search(self, query: Vector | Weights | Facets, limit: int, allowed: Allowed | None = None) -> Found:
        if isinstance(query, Facets):
            keys = self._search.having(query.names, limit, allowed)
            return Found(keys, [1.0] * len(keys))
        if isinstance(query, Mapping):
            return self._search.words(query, limit, allowed)
        return self._search.nearest(query, limit, allowed)

    def score(self, query: Weights, keys: Sequence[int]) -> dict[int, float]:
        return self._search.scores(query, keys)

    def keys(self) -> Keys:
        try:
            found = [key_of(one) for page in self._points.pages(within(self._scope)) for one in page]
        except IndexMissing:
            found = []
        except ForeignResponse as error:
            raise self._calls.strange() from error
        return np.sort(np.asarray(found, dtype=np.int64))

    # ── writing

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Apply changes, then record the position. If interrupted, applying the same changes again completes it."""
        try:
            mark = self._begin()
            filling = Filling(self._points, self._scope, seq=position, batch=self._options.batch, fresh=mark.seq == 0)
            filling.run(changes)
            self._check_unchanged(mark)
            self._write_mark(Mark(mark.fill, position))
        except IndexMissing:
            self._remember(None, asked=False)
            self._collections.forget(self._scope)
            raise

    def clear(self) -> None:
        """Delete the mark first: without it, the rest counts as nothing if this is interrupted."""
        self._remember(None)
        try:
            self._points.drop([mark_id(self._scope)])
            self._points.drop_all(within(self._scope))
        except IndexMissing:
            self._collections.forget(self._scope)

    def remove(self, keys: Sequence[int]) -> None:
        for start in range(0, len(keys), REMOVED_AT_ONCE):
            some = keys[start : start + REMOVED_AT_ONCE]
            self._points.drop(within(self._scope, any_key(self._scope, some)))

    def compact(self) -> None:
        """Do nothing: the server rewrites its files by itself, once a fifth of one is removed."""

    def promote(self) -> None:
        """Switch the tenant's alias to this collection, in one step."""
        from qdrant_client import models

        self._collections.ready(self._scope)
        alias = f"{self._calls.endpoint.prefix}.{self._scope.tenant}"
        steps: list[models.AliasOperations] = [
            models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)),
            models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=self._name, alias_name=alias)),
        ]
        self._calls.write(lambda client: client.update_collection_aliases(steps))

    # ── the mark

    def _begin(self) -> Mark:
        """Return the mark to continue from. Without one, empty the index and create a new mark."""
        mark = self._mark(patient=True)
        known, asked = self._known, self._asked
        if known and known.seq and (mark is None or mark.fill != known.fill):
            raise self._calls.failed(IndexMissing, f"no longer has what was in the collection {self._name}")
        if mark is None:
            self._collections.forget(self._scope)
        self._collections.ready(self._scope)
        if mark is not None and mark.seq and (not asked or (known is not None and known.seq)):
            return mark
        mark = Mark(secrets.token_hex(8))
        self._write_mark(mark)
        self._points.drop_all(within(self._scope))
        return mark

    def _check_unchanged(self, mark: Mark) -> None:
        """Raise if another process emptied the index meanwhile: points sent before would be missing unnoticed."""
        now = self._mark(patient=True)
        if now is None or now.fill != mark.fill:
            raise self._calls.failed(
                IndexMissing, f"was emptied by another process while the collection {self._name} was written"
            )

    def _mark(self, *, patient: bool) -> Mark | None:
        """Return the mark in the database; None if it is missing or has another identity."""
        call = self._calls.write if patient else self._calls.read
        try:
            found = call(lambda client: client.retrieve(self._name, [mark_id(self._scope)], with_payload=True))
        except IndexMissing:
            return None
        payload = (found[0].payload if found else None) or {}
        if payload.get("identity") != sayable(self._scope.identity):
            return None
        seen = payload.get("seen")
        return Mark(str(payload.get("fill", "")), seen if isinstance(seen, int) else 0)

    def _write_mark(self, mark: Mark) -> None:
        from qdrant_client import models

        payload = {
            SHELF: self._scope.tenant,
            "shelf_generation": self._scope.generation,
            "identity": sayable(self._scope.identity),
            "fill": mark.fill,
            "seen": mark.seq,
        }
        self._points.put([models.PointStruct(id=mark_id(self._scope), vector={}, payload=payload)])
        self._remember(mark)

    def _remember(self, mark: Mark | None, *, asked: bool = True) -> None:
        with self._guard:
            self._known, self._asked = mark, asked
            self._writes += 1


# ── applies changes in batches: new points are written before old ones are deleted, so nothing is ever missing


PAGE = 10_000
"""Ids read or deleted per call, so that each call ends in time."""
REQUEST_BYTES = 8_000_000
"""The limit for one request; a server accepts 32 MB."""
DOCUMENTS = 500


class Points:
    """The points of one collection. Writes use the configured ordering and wait for completion."""

    def __init__(self, calls: Calls, collection: str, ordering: str) -> None:
        self.calls = calls
        self.collection = collection
        self._ordering = ordering

    def put(self, points: list[models.PointStruct]) -> None:
        from qdrant_client import models

        order = models.WriteOrdering(self._ordering)
        self.calls.write(lambda client: client.upsert(self.collection, points, wait=True, ordering=order))

    def drop(self, target: list[str] | models.Filter) -> None:
        from qdrant_client import models

        order = models.WriteOrdering(self._ordering)
        selector: Any = (
            models.PointIdsList(points=list(target))
            if isinstance(target, list)
            else models.FilterSelector(filter=target)
        )
        self.calls.write(lambda client: client.delete(self.collection, selector, wait=True, ordering=order))

    def pages(self, condition: models.Filter, size: int = PAGE) -> Iterator[list[str]]:
        """Yield the ids of all points that match the filter, page by page."""
        offset: object = None
        while True:
            start = offset
            found, offset = self.calls.write(
                lambda client, start=start: client.scroll(  # type: ignore[misc]
                    self.collection, condition, limit=size, offset=start, with_payload=False, with_vectors=False
                )
            )
            if found:
                yield [str(record.id) for record in found]
            if offset is None:
                return
            if offset == start:
                raise self.calls.strange()  # the same page forever

    def drop_all(self, condition: models.Filter) -> None:
        """Delete every point that matches the filter, page by page."""
        for page in self.pages(condition):
            self.drop(page)


class Filling:
    """One run of changes. `fresh` means the index was empty before, so there are no old points to delete."""

    def __init__(self, points: Points, scope: Scope, *, seq: int, batch: int, fresh: bool) -> None:
        self._points = points
        self._scope = scope
        self._seq = seq
        self._batch = batch
        self._seen: set[int] | None = set() if fresh else None
        self._waiting: list[models.PointStruct] = []
        self._bytes = 0
        self._current: dict[int, set[str]] = {}
        """The documents whose old points must be deleted, and the ids of points to keep."""
        self._kept = 0

    def run(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._take(change)
            if len(self._current) >= DOCUMENTS or self._kept >= self._batch:
                self._settle()
        self._settle()

    def _take(self, change: Change) -> None:
        if change.document in self._current:
            self._settle()
        ids: set[str] = set()
        for entry in change.entries:
            point = point_of(self._scope, entry, change.seq)
            ids.add(str(point.id))
            self._add(point, _size(entry))
        if self._seen is None or change.document in self._seen:
            self._current[change.document] = ids
            self._kept += len(ids)
        else:
            self._seen.add(change.document)

    def _add(self, point: models.PointStruct, size: int) -> None:
        if self._waiting and (len(self._waiting) >= self._batch or self._bytes + size > REQUEST_BYTES):
            self._send()
        self._waiting.append(point)
        self._bytes += size

    def _send(self) -> None:
        if self._waiting:
            self._points.put(self._waiting)
        self._waiting, self._bytes = [], 0

    def _settle(self) -> None:
        """Send pending points, then delete the documents' old ones, but none that a later change wrote."""
        self._send()
        if self._current:
            ids = set().union(*self._current.values())
            found = within(self._scope, any_document(self._current), not_after(self._seq))
            for page in self._points.pages(found):
                if stale := [identifier for identifier in page if identifier not in ids]:
                    self._points.drop(stale)
        self._current, self._kept = {}, 0


def _size(entry: Entry) -> int:
    """Estimate the size of the entry as JSON, in bytes."""
    characters = sum(map(len, entry.facets)) + (len(json.dumps(dict(entry.metadata))) if entry.metadata else 0)
    return 400 + 8 * len(entry.vector) + 30 * len(entry.weights) + 2 * characters
