"""What a folder's store gives a vector database that serves a leg of its searches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from footnotes.index import Change, Entry, Keys
from footnotes.index.outside import Scope
from footnotes.store.facets import DEFINES, facet_term
from footnotes.store.lexemes import Terms, chunk_terms
from footnotes.store.lock import FileLock
from footnotes.store.packing import unpack_headings
from footnotes.store.records import Generation
from footnotes.store.sqlite import chunks, feed, generations, staging, words
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import SpanReader
from footnotes.store.truth import TOLD, BaseTruth, Portion, described, hidden
from footnotes.store.weights import Averages, counts_of, weights_of

_LOCK_SECONDS = 600.0
DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 4_000
"""So much is brought before the database is marked: what a catch-up that is cut off has to do again."""
_MEASURED_DOCUMENTS = 100


class SqliteTruth(BaseTruth):
    """The truth of a folder as a vector database sees it."""

    def __init__(
        self, database: Database, folder: Path, library: str, address: str, legs: Iterable[str], *, tells: bool
    ) -> None:
        super().__init__(library, address, legs, tells=tells)
        self._database = database
        self._lock = FileLock(folder / "outside.lock")

    def held(self, generation: Generation) -> AbstractContextManager[None]:
        return self._lock.held(seconds=_LOCK_SECONDS, purpose="filling a vector database")

    def last(self, generation: Generation) -> int:
        return feed.last_change(self._database.reader, generation)

    def behind(self, generation: Generation, seq: int) -> int:
        bindings = (generation.user_id, generation.pk, seq)
        row = self._database.reader.execute(queries()["count_changed"], bindings).fetchone()
        return int(row[0]) if row else 0

    def known(self, generation: Generation) -> int:
        row: Any = self._database.reader.execute(queries()["shelf"], (self._address, generation.pk)).fetchone()
        return int(row[1]) if row and row[0] == self.words else 0

    def keys(self, generation: Generation) -> Keys:
        with self._database.raw_snapshot() as connection:
            rows = connection.execute(queries()["live_keys"], (generation.user_id, generation.pk)).fetchall()
        return np.array([row[0] for row in rows if self._lexical or not row[1]], dtype=np.int64)

    # ── bringing

    @contextmanager
    def portion(self, generation: Generation, after: int) -> Iterator[Portion | None]:
        with self._database.raw_snapshot() as connection:
            bindings = (generation.user_id, generation.pk, after, DOCUMENTS_AT_ONCE)
            rows: Any = connection.execute(queries()["changed_documents"], bindings).fetchall()
            if not rows:
                yield None
                return
            some, size = [], 0
            for seq, document, count in rows:
                some.append(document)
                size += count
                last = seq
                if size >= CHUNKS_AT_ONCE:
                    break
            yield Portion(last, self._changes(connection, generation, some, last))

    @contextmanager
    def again(self, generation: Generation, keys: Keys, seq: int) -> Iterator[Portion]:
        with self._database.raw_snapshot() as connection:
            bindings = (chunks.as_table(keys.tolist()), generation.pk)
            documents = [int(row[0]) for row in connection.execute(queries()["documents_of_keys"], bindings)]
            yield Portion(seq, self._changes(connection, generation, documents, seq))

    def _changes(
        self, connection: apsw.Connection, generation: Generation, documents: Sequence[int], seq: int
    ) -> Iterable[Change]:
        if not self._lexical:
            return (Change(seq, pk, self._entries(connection, generation, pk, {}, None)) for pk in documents)
        terms = {pk: dict(self._terms(connection, generation, pk)) for pk in documents}
        with self._database.transaction() as writer:
            words.put(writer, generation.pk, {pk: list(found.values()) for pk, found in terms.items()})
        averages = words.averages(self._database.reader, generation.pk) or Averages()
        return [
            Change(seq, pk, self._entries(connection, generation, pk, found, averages)) for pk, found in terms.items()
        ]

    def _entries(
        self,
        connection: apsw.Connection,
        generation: Generation,
        pk: int,
        terms: Mapping[int, Terms],
        averages: Averages | None,
    ) -> Iterator[Entry]:
        """A document's chunks: with their words where these are wanted, with vectors once a version has all of them."""
        about: Any = connection.execute(queries()["outside_document"], (pk,)).fetchone()
        for version in staging.versions_of(connection, pk):
            complete = self._dense and feed.has_vectors(connection, generation, version)
            if not (complete or self._lexical):
                continue
            facets = feed.facets_of(connection, pk, version)
            for row in self._rows(connection, generation, version):
                key, chunk_id, metadata, vector = row[0], row[1], row[6], row[7]
                found = terms.get(key)
                defines = () if found is None else found.defines
                yield Entry(
                    key,
                    pk,
                    facets=hidden((*facets, *(facet_term(DEFINES, name) for name in defines))),
                    vector=vector if complete and vector is not None else b"",
                    weights={} if found is None or averages is None else weights_of(counts_of(found), found, averages),
                    metadata=_described(about, chunk_id, metadata) if self._tells else {},
                )

    def _terms(self, connection: apsw.Connection, generation: Generation, pk: int) -> Iterator[tuple[int, Terms]]:
        for version in staging.versions_of(connection, pk):
            reader = SpanReader(connection, version.pk)
            for row in self._rows(connection, generation, version):
                key, _, start, end, headings, prefix, metadata, _ = row
                named = {"headings": unpack_headings(headings), "title": version.title, "prefix": prefix}
                yield key, chunk_terms(reader.read(start, end), **named, metadata=json.loads(metadata))

    @staticmethod
    def _rows(connection: apsw.Connection, generation: Generation, version: staging.Version) -> Iterator[Any]:
        bindings = (generation.model, generation.pk, version.pk)
        return iter(connection.execute(queries()["outside_entries"], bindings))

    # ── what is where

    def note(self, generation: Generation) -> None:
        """Write down that there is a shelf, and measure the lengths of chunks where its words need it."""
        if self._lexical:
            self._measure(generation)
        known = self._database.reader.execute(queries()["shelf"], (self._address, generation.pk)).fetchone()
        if known is None or known[0] != self.words:
            row = (self._address, generation.pk, generation.user_id, generation.fingerprint, generation.dimensions)
            with self._database.transaction() as connection:
                connection.execute(queries()["put_shelf"], (*row, self.words))

    def _measure(self, generation: Generation) -> None:
        if words.averages(self._database.reader, generation.pk) is not None:
            with self._database.transaction() as connection:
                if words.measure_again(connection, generation.pk):
                    connection.execute(queries()["log_all_again"], (generation.user_id, generation.pk))
            return
        with self._database.raw_snapshot() as connection:
            bindings = (generation.user_id, generation.pk, 0, _MEASURED_DOCUMENTS)
            rows: Any = connection.execute(queries()["changed_documents"], bindings).fetchall()
            some = [terms for row in rows for _, terms in self._terms(connection, generation, row[1])]
        with self._database.transaction() as connection:
            words.measure(connection, generation.pk, some)

    def reached(self, generation: Generation, seq: int) -> None:
        with self._database.transaction() as connection:
            connection.execute(queries()["set_shelf_seq"], (seq, self._address, generation.pk))
            serving, visible = generations.serving(connection, generation.user_id)
            if serving is not None and serving.pk == generation.pk:
                # Words that another process is still indexing are not published yet.
                connection.execute(queries()["mark_ready"], (generation.user_id, generation.pk, min(seq, visible)))

    def dropped(self, user_id: str) -> list[Scope]:
        rows: Any = self._database.reader.execute(queries()["dropped_shelves"], (self._address, user_id)).fetchall()
        return [Scope(self._library, *row) for row in rows]

    def forget(self, scope: Scope) -> None:
        with self._database.transaction() as connection:
            connection.execute(queries()["forget_shelf"], (self._address, scope.generation))


def _described(about: Sequence[Any], chunk_id: str, metadata: str) -> dict[str, Any]:
    *names, of_document = about
    merged = {**json.loads(of_document), **json.loads(metadata)}
    return described(dict(zip(TOLD, names, strict=True)), chunk_id, merged)
