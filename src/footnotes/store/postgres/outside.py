"""What a PostgreSQL store gives a vector database that serves a leg of its searches."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from footnotes.index import Change, Entry, Keys
from footnotes.index.outside import Scope
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import defined
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.persistence import persistent
from footnotes.store.postgres.sql import queries
from footnotes.store.records import Generation
from footnotes.store.truth import BaseTruth, Portion, described, hidden

DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 1_000
"""So many are read of the database at a time."""
FILLED_AT_ONCE = 4
"""So many shelves a process fills at once."""


class PostgresTruth(BaseTruth):
    """The truth of a database as a vector database sees it. Any number of servers may want to fill a shelf."""

    def __init__(self, database: Database, library: str, address: str, legs: Iterable[str], *, tells: bool) -> None:
        super().__init__(library, address, legs, tells=tells)
        self._database = database
        self._turns: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        # Those who fill hold one connection while they use others: so many must not take all of the pool.
        self._few = threading.BoundedSemaphore(FILLED_AT_ONCE)

    @contextmanager
    def held(self, generation: Generation) -> Iterator[None]:
        with self._turns[generation.pk], self._few, self._database.transaction(generation.user_id) as connection:
            connection.execute(queries()["fill_turn"], generation.pk)
            yield

    def last(self, generation: Generation) -> int:
        return int(self._value("log_length", generation))

    def behind(self, generation: Generation, seq: int) -> int:
        return int(self._value("count_changed", generation, seq))

    def known(self, generation: Generation) -> int:
        rows = self._fetch("shelf_seq", generation, self._address)
        return int(rows[0][0]) if rows else 0

    def keys(self, generation: Generation) -> Keys:
        rows = self._fetch("served_keys", generation, self._lexical)
        return np.array([row[0] for row in rows], dtype=np.int64)

    def _value(self, name: str, generation: Generation, *bindings: Any) -> Any:
        return self._fetch(name, generation, *bindings)[0][0]

    def _fetch(self, name: str, generation: Generation, *bindings: Any) -> list[Any]:
        user_id = generation.user_id
        return self._database.fetch(user_id, queries()[name], user_id, generation.pk, *bindings)

    # ── bringing

    @contextmanager
    def portion(self, generation: Generation, after: int) -> Iterator[Portion | None]:
        with self._database.raw_snapshot(generation.user_id) as connection:
            bindings = (generation.user_id, generation.pk, after, DOCUMENTS_AT_ONCE)
            rows = connection.fetch(queries()["changed_documents"], *bindings)
            last = rows[-1]["seq"] if rows else after
            yield Portion(last, self._changes(connection, generation, rows, last)) if rows else None

    @contextmanager
    def again(self, generation: Generation, keys: Keys, seq: int) -> Iterator[Portion]:
        with self._database.raw_snapshot(generation.user_id) as connection:
            bindings = (generation.user_id, generation.pk, keys.tolist())
            rows = connection.fetch(queries()["documents_of_keys"], *bindings)
            yield Portion(seq, self._changes(connection, generation, rows, seq))

    def _changes(
        self, connection: Connection, generation: Generation, rows: Sequence[Any], seq: int
    ) -> Iterator[Change]:
        for some in _in_reads(rows):
            entries = self._entries(connection, generation, some)
            yield from (Change(seq, document, entries.get(document, ())) for document in some)

    def _entries(
        self, connection: Connection, generation: Generation, documents: Sequence[int]
    ) -> dict[int, list[Entry]]:
        """The chunks of documents: with their words where these are wanted, with vectors once all are there."""
        user_id = generation.user_id
        facets: dict[int, list[str]] = {}
        for row in connection.fetch(queries()["facets_of_documents"], user_id, list(documents), MAX_TEXT):
            facets.setdefault(row["document"], []).append(facet_term(row["key"], row["text"]))
        found: dict[int, list[Entry]] = {}
        for row in connection.fetch(queries()["outside_entries"], user_id, generation.pk, list(documents)):
            if self._lexical or not row["waits"]:
                about = facets.get(row["document"], [])
                found.setdefault(row["document"], []).append(self._entry(row, about))
        return found

    def _entry(self, row: Any, facets: Sequence[str]) -> Entry:
        with_vector = self._dense and not row["waits"] and row["embedding"] is not None
        defines = defined(row["metadata"]) if self._lexical else ()
        return Entry(
            row["key"],
            row["document"],
            facets=hidden((*facets, *(facet_term(DEFINES, name) for name in defines))),
            vector=row["embedding"].to_numpy().astype(np.float16).tobytes() if with_vector else b"",
            weights=_weights(row["words"]) if self._lexical else {},
            metadata=described(row, row["id"], {**row["document_metadata"], **row["metadata"]}) if self._tells else {},
        )

    # ── what is where

    @persistent
    def note(self, generation: Generation) -> None:
        """Write down that there is a shelf, in place of any other: readiness is measured by it."""
        user_id, made = generation.user_id, (generation.fingerprint, generation.dimensions)
        with self._database.transaction(user_id) as connection:
            connection.execute(queries()["put_shelf"], user_id, self._address, generation.pk, *made, self.words)
            connection.execute(queries()["use_no_other_shelf"], user_id, self._address, generation.pk)

    @persistent
    def reached(self, generation: Generation, seq: int) -> None:
        user_id = generation.user_id
        with self._database.transaction(user_id) as connection:
            if not connection.execute(queries()["set_shelf_seq"], user_id, self._address, generation.pk, seq):
                return
            if connection.execute(queries()["mark_all_ready"], user_id, generation.pk):
                connection.execute(queries()["bump"], user_id)

    def dropped(self, user_id: str) -> list[Scope]:
        rows = self._database.fetch(user_id, queries()["dropped_shelves"], user_id, self._address)
        return [Scope(self._library, *row) for row in rows]

    @persistent
    def forget(self, scope: Scope) -> None:
        with self._database.transaction(scope.user_id) as connection:
            connection.execute(queries()["forget_shelf"], scope.user_id, self._address, scope.generation)


def _in_reads(rows: Sequence[Any]) -> Iterator[list[int]]:
    """Documents in groups of about so many chunks."""
    some: list[int] = []
    size = 0
    for row in rows:
        some.append(row["document"])
        size += row["chunks"]
        if size >= CHUNKS_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _weights(words: Any) -> Mapping[int, float]:
    return dict(zip(words.indices(), words.values(), strict=True))
