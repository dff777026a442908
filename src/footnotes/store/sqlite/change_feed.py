"""The change feed of a folder's store for a vector database that serves a leg."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from footnotes.index import Change, Entry
from footnotes.store import generations
from footnotes.store.change_feed import BaseChangeFeed, Portion, described, first_rows, hidden
from footnotes.store.database import Cursor, Row
from footnotes.store.facets import DEFINES, facet_term
from footnotes.store.lexemes import Terms
from footnotes.store.lock import FileLock
from footnotes.store.records import Generation
from footnotes.store.sqlite import feed, staging, words
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.texts import SpanReader
from footnotes.store.weights import Averages, counts_of, weights_of
from footnotes.types import JsonValue

_LOCK_SECONDS = 600.0
DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 4_000
"""Chunks sent before the database is marked: the work that an interrupted catch-up repeats."""
_MEASURED_DOCUMENTS = 100


class SqliteChangeFeed(BaseChangeFeed):
    """The change feed of a folder."""

    def __init__(
        self, database: Database, folder: Path, library: str, address: str, legs: Iterable[str], *, with_metadata: bool
    ) -> None:
        super().__init__(database, library, address, legs, with_metadata=with_metadata)
        self._database: Database = database
        self._lock = FileLock(folder / "outside.lock")

    def held(self, generation: Generation) -> AbstractContextManager[None]:
        return self._lock.held(seconds=_LOCK_SECONDS, purpose="filling a vector database")

    # ── sending

    @contextmanager
    def portion(self, generation: Generation, after: int) -> Iterator[Portion | None]:
        with self._database.snapshot(generation.user_id) as cursor:
            wanted = {"generation": generation.pk, "seq": after, "limit": DOCUMENTS_AT_ONCE}
            rows = cursor.all("changed_documents", **wanted)
            if not rows:
                yield None
                return
            some = first_rows(rows, CHUNKS_AT_ONCE)
            last = some[-1]["seq"]
            yield Portion(last, self._changes(cursor, generation, some, last))

    def _changes(self, cursor: Cursor, generation: Generation, rows: Sequence[Row], seq: int) -> Iterable[Change]:
        assert isinstance(cursor, SqliteCursor)
        documents = [row["document"] for row in rows]
        if not self._lexical:
            return (Change(seq, pk, self._entries(cursor, generation, pk, {}, None)) for pk in documents)
        terms = {pk: dict(self._terms(cursor, generation, pk)) for pk in documents}
        with self._database.write(generation.user_id) as writer:
            words.put(writer, generation.pk, {pk: list(found.values()) for pk, found in terms.items()})
        averages = words.averages(cursor, generation.pk) or Averages()
        return [Change(seq, pk, self._entries(cursor, generation, pk, found, averages)) for pk, found in terms.items()]

    def _entries(
        self,
        cursor: SqliteCursor,
        generation: Generation,
        pk: int,
        terms: Mapping[int, Terms],
        averages: Averages | None,
    ) -> Iterator[Entry]:
        """Yield a document's chunks: with terms if the lexical leg needs them, with vectors once a version has all."""
        about = cursor.one("indexed_document", document=pk)
        for version in staging.versions_of(cursor, pk):
            complete = self._dense and feed.has_vectors(cursor, generation, version)
            if not (complete or self._lexical):
                continue
            facets = feed.facets_of(cursor, pk, version)
            for row in self._rows(cursor, generation, version):
                found = terms.get(row["key"])
                defines = () if found is None else found.defines
                yield Entry(
                    row["key"],
                    pk,
                    facets=hidden((*facets, *(facet_term(DEFINES, name) for name in defines))),
                    vector=row["vector"] if complete and row["vector"] is not None else b"",
                    weights={} if found is None or averages is None else weights_of(counts_of(found), found, averages),
                    metadata=_describe(about, row) if self._with_metadata and about is not None else {},
                )

    def _terms(self, cursor: SqliteCursor, generation: Generation, pk: int) -> Iterator[tuple[int, Terms]]:
        for version in staging.versions_of(cursor, pk):
            reader = SpanReader(cursor, version.pk)
            for row in self._rows(cursor, generation, version):
                yield row["key"], feed.terms_of(row, reader, version)

    @staticmethod
    def _rows(cursor: SqliteCursor, generation: Generation, version: staging.Version) -> Iterator[Row]:
        wanted = {"generation": generation.pk, "version": version.pk, "model": generation.model}
        return cursor.each("remote_entries", **wanted)

    # ── progress

    def note(self, generation: Generation) -> None:
        """Record the index, and measure the lengths of chunks if its terms need them."""
        if self._lexical:
            self._measure(generation)
        with self._database.read(generation.user_id) as cursor:
            known = cursor.one("remote_index", address=self._address, generation=generation.pk)
        if known is None or known["words"] != self.words:
            self._put_remote_index(generation)

    def _measure(self, generation: Generation) -> None:
        with self._database.snapshot(generation.user_id) as cursor:
            first = words.averages(cursor, generation.pk) is None
            wanted = {"generation": generation.pk, "seq": 0, "limit": _MEASURED_DOCUMENTS}
            rows = cursor.all("changed_documents", **wanted) if first else []
            some = [terms for row in rows for _, terms in self._terms(cursor, generation, row["document"])]
        with self._database.write(generation.user_id) as cursor:
            if first:
                words.measure(cursor, generation.pk, some)
            elif words.measure_again(cursor, generation.pk):
                cursor.run("log_all_again", generation=generation.pk)

    def reached(self, generation: Generation, seq: int) -> None:
        with self._database.write(generation.user_id) as cursor:
            cursor.run("set_remote_position", address=self._address, generation=generation.pk, seq=seq)
            serving = generations.serving(cursor)
            if serving is not None and serving.pk == generation.pk:
                # Terms that another process is still indexing are not published yet.
                visible = cursor.value("visible")
                cursor.run("mark_ready", generation=generation.pk, seq=min(seq, visible))


def _describe(about: Row, row: Row) -> dict[str, JsonValue]:
    merged = {**json.loads(about["metadata"]), **json.loads(row["metadata"])}
    return described(about, row["id"], merged)
