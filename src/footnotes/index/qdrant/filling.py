"""Changes on their way into a Qdrant: in batches, new points before the old ones go, so that nothing is ever absent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from footnotes.index import Change, Entry
from footnotes.index.qdrant.calls import Calls
from footnotes.index.qdrant.points import any_document, not_after, point_of, within
from footnotes.index.remote import Scope

if TYPE_CHECKING:
    from qdrant_client import models

PAGE = 10_000
"""Ids read or deleted at once: a call is over in time, however much there is."""
REQUEST_BYTES = 8_000_000
"""A server takes 32 MB at once."""
DOCUMENTS = 500


class Points:
    """The points of one collection, written with the options' ordering and waited for."""

    def __init__(self, calls: Calls, collection: str, ordering: str) -> None:
        self.calls = calls
        self.collection = collection
        self._ordering = ordering

    def put(self, points: list[models.PointStruct]) -> None:
        from qdrant_client import models

        order = models.WriteOrdering(self._ordering)
        self.calls.write(lambda client: client.upsert(self.collection, points, wait=True, ordering=order))

    def drop(self, chosen: list[str] | models.Filter) -> None:
        from qdrant_client import models

        order = models.WriteOrdering(self._ordering)
        selector: Any = (
            models.PointIdsList(points=list(chosen))
            if isinstance(chosen, list)
            else models.FilterSelector(filter=chosen)
        )
        self.calls.write(lambda client: client.delete(self.collection, selector, wait=True, ordering=order))

    def pages(self, wanted: models.Filter, size: int = PAGE) -> Iterator[list[str]]:
        """The ids of all points that pass the filter, some at a time."""
        offset: Any = None
        while True:
            start = offset
            found, offset = self.calls.write(
                lambda client, start=start: client.scroll(  # type: ignore[misc]
                    self.collection, wanted, limit=size, offset=start, with_payload=False, with_vectors=False
                )
            )
            if found:
                yield [str(record.id) for record in found]
            if offset is None:
                return
            if offset == start:
                raise self.calls.strange()  # the same page without end

    def drop_all(self, wanted: models.Filter) -> None:
        """Every point that passes the filter, some at a time."""
        for page in self.pages(wanted):
            self.drop(page)


class Filling:
    """One run of changes. `fresh` when nothing of the index was there before: then there is nothing to take out."""

    def __init__(self, points: Points, scope: Scope, *, seq: int, batch: int, fresh: bool) -> None:
        self._points = points
        self._scope = scope
        self._seq = seq
        self._batch = batch
        self._seen: set[int] | None = set() if fresh else None
        self._waiting: list[models.PointStruct] = []
        self._bytes = 0
        self._current: dict[int, set[str]] = {}
        """The documents whose old points are to go, and the ids of those to stay."""
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
        kept: set[str] = set()
        for entry in change.entries:
            point = point_of(self._scope, entry, change.seq)
            kept.add(str(point.id))
            self._add(point, _size(entry))
        if self._seen is None or change.document in self._seen:
            self._current[change.document] = kept
            self._kept += len(kept)
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
        """Send what waits, then take out what the documents had before, but nothing a later change brought."""
        self._send()
        if self._current:
            kept = set().union(*self._current.values())
            found = within(self._scope, any_document(self._current), not_after(self._seq))
            for page in self._points.pages(found):
                if stale := [identifier for identifier in page if identifier not in kept]:
                    self._points.drop(stale)
        self._current, self._kept = {}, 0


def _size(entry: Entry) -> int:
    """About how many bytes of JSON it takes."""
    told = sum(map(len, entry.facets)) + (len(json.dumps(dict(entry.metadata))) if entry.metadata else 0)
    return 400 + 8 * len(entry.vector) + 30 * len(entry.weights) + 2 * told
