"""The change feed of a PostgreSQL store for a vector database that serves a leg."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from footnotes.index import Change, Entry
from footnotes.store.change_feed import BaseChangeFeed, Portion, described, first_rows, hidden
from footnotes.store.database import Cursor, Database, Row
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import defined
from footnotes.store.records import Generation
from footnotes.store.retry import retrying

DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 1_000
"""Chunks read from the database at a time."""
FILLED_AT_ONCE = 4
"""Indexes that a process fills at the same time."""


class PostgresChangeFeed(BaseChangeFeed):
    """The change feed of a database. Any number of servers may want to fill an index."""

    def __init__(
        self, database: Database, library: str, address: str, legs: Iterable[str], *, with_metadata: bool
    ) -> None:
        super().__init__(database, library, address, legs, with_metadata=with_metadata)
        self._turns: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        # Each filler holds one connection while it uses others, so fillers must not take the whole pool.
        self._few = threading.BoundedSemaphore(FILLED_AT_ONCE)

    @contextmanager
    def held(self, generation: Generation) -> Iterator[None]:
        with self._turns[generation.pk], self._few, self._database.write(generation.user_id) as cursor:
            cursor.run("lock_remote_index", generation=generation.pk)
            yield

    # ── sending

    @contextmanager
    def portion(self, generation: Generation, after: int) -> Iterator[Portion | None]:
        with self._database.snapshot(generation.user_id) as cursor:
            wanted = {"generation": generation.pk, "seq": after, "limit": DOCUMENTS_AT_ONCE}
            rows = cursor.all("changed_documents", **wanted)
            last = rows[-1]["seq"] if rows else after
            yield Portion(last, self._changes(cursor, generation, rows, last)) if rows else None

    def _changes(self, cursor: Cursor, generation: Generation, rows: Sequence[Row], seq: int) -> Iterator[Change]:
        left = list(rows)
        while left:
            some = [row["document"] for row in first_rows(left, CHUNKS_AT_ONCE)]
            left = left[len(some) :]
            entries = self._entries(cursor, generation, some)
            yield from (Change(seq, document, entries.get(document, ())) for document in some)

    def _entries(self, cursor: Cursor, generation: Generation, documents: Sequence[int]) -> dict[int, list[Entry]]:
        """Return the chunks of documents: with terms if the lexical leg needs them, with vectors once all exist."""
        facets: dict[int, list[str]] = {}
        for row in cursor.all("facets_of_documents", documents=list(documents), longest=MAX_TEXT):
            facets.setdefault(row["document"], []).append(facet_term(row["key"], row["text"]))
        found: dict[int, list[Entry]] = {}
        for row in cursor.all("remote_entries", generation=generation.pk, documents=list(documents)):
            if self._lexical or not row["waits"]:
                about = facets.get(row["document"], [])
                found.setdefault(row["document"], []).append(self._entry(row, about))
        return found

    def _entry(self, row: Row, facets: Sequence[str]) -> Entry:
        with_vector = self._dense and not row["waits"] and row["embedding"] is not None
        metadata = json.loads(row["metadata"])
        defines = defined(metadata) if self._lexical else ()
        return Entry(
            row["key"],
            row["document"],
            facets=hidden((*facets, *(facet_term(DEFINES, name) for name in defines))),
            vector=row["embedding"].to_numpy().astype(np.float16).tobytes() if with_vector else b"",
            weights=_weights(row["words"]) if self._lexical else {},
            metadata=described(row, row["id"], {**json.loads(row["document_metadata"]), **metadata})
            if self._with_metadata
            else {},
        )

    # ── progress

    def note(self, generation: Generation) -> None:
        """Record the index in place of any other: readiness is measured by it."""
        self._put_remote_index(generation)

    @retrying
    def reached(self, generation: Generation, seq: int) -> None:
        with self._database.write(generation.user_id) as cursor:
            if not cursor.run("set_remote_position", address=self._address, generation=generation.pk, seq=seq):
                return
            if cursor.run("mark_all_ready", generation=generation.pk):
                cursor.run("bump")


def _weights(words: Any) -> Mapping[int, float]:
    return dict(zip(words.indices(), words.values(), strict=True))
