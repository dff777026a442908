"""Bringing changes into a collection: in batches, and so that a document is never absent in between."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from footnotes.errors import IndexFailed
from footnotes.index import Change, Entry
from footnotes.index.chroma.calls import Calls, KnownCollection, chunk_vector
from footnotes.index.chroma.filters import DOCUMENT, FACETS, SEQ, sayable
from footnotes.index.chroma.metadata import flattened

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
