"""A library in a folder: SQLite holds the truth, the indexes are caches beside it.

library/
  footnotes.db            documents, text, chunks, vectors, the change log
  index/<tenant>/<generation>/lexical, dense
  write.lock              who writes
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from footnotes.errors import NotFound, StoreUnavailable
from footnotes.store.lock import FileLock
from footnotes.store.sqlite import chunks, documents, generations, texts
from footnotes.store.sqlite.connection import Database, migrate, translated
from footnotes.store.sqlite.indexes import Indexes
from footnotes.store.sqlite.rows import DocumentRow, Generation
from footnotes.store.sqlite.sql import migrations, queries
from footnotes.store.sqlite.view import SqliteSearchView
from footnotes.types import Chunk, Document, ErrorInfo, Filter, Part

DATABASE = "footnotes.db"


def is_library(folder: Path) -> bool:
    return (folder / DATABASE).is_file()


class SqliteStore:
    """The embedded store. Every method takes the tenant first; a foreign id is an id that does not exist."""

    def __init__(self, folder: Path, *, lock_seconds: float = 10.0) -> None:
        self.folder = folder
        self._lock_seconds = lock_seconds
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the folder {folder} cannot be made ({error.strerror})") from error
        self._lock = FileLock(folder / "write.lock")
        self.database = Database(folder / DATABASE)
        try:
            migrate(self.database, migrations())
            self._indexes = Indexes(folder / "index", self.database, self._library_id())
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        self.database.close()

    @contextmanager
    def writing(self, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Hold the library for writing. What an earlier writer left unfinished is put right first."""
        with self._lock.held(seconds=self._lock_seconds if seconds is None else seconds, purpose=purpose):
            yield

    def _library_id(self) -> str:
        row = self.database.reader.execute(queries()["library_id"]).fetchone()
        if row is None:
            with self.database.transaction() as connection:
                row = connection.execute(queries()["library_id"]).fetchone()
                if row is None:
                    row = (uuid.uuid4().hex,)
                    connection.execute(queries()["make_library"], (row[0], documents.now()))
        return str(row[0])

    # ── searching

    def view(self, user_id: str) -> SqliteSearchView:
        with translated():
            generation, seq = generations.serving(self.database.reader, user_id)
        return SqliteSearchView(self.database, self._indexes, generation, seq, user_id)

    def serving(self, user_id: str) -> Generation | None:
        with translated():
            return generations.serving(self.database.reader, user_id)[0]

    # ── reading

    def users(self) -> list[str]:
        with translated():
            return [row[0] for row in self.database.reader.execute(queries()["user_ids"])]

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id, or by a prefix of it that means one document only."""
        with translated():
            row = documents.find(self.database.reader, user_id, document_id)
        if row is None:
            raise NotFound(f"there is no document {document_id!r}")
        return row

    def find_by_hash(self, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
        with translated():
            return documents.find_by_hash(self.database.reader, user_id, collection, file_hash)

    def find_by_source(self, user_id: str, collection: str, source: str) -> DocumentRow | None:
        with translated():
            return documents.find_by_source(self.database.reader, user_id, collection, source)

    def documents(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        with self.database.snapshot() as connection:
            return [row.document for row in documents.listed(connection, user_id, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        with self.database.snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            assert row.current is not None
            return texts.read_span(connection, row.current, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> list[Part]:
        with self.database.snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            assert row.current is not None
            return list(texts.read_parts(connection, row.current))

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        with self.database.snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            generation, _ = generations.serving(connection, user_id)
            return [] if generation is None else chunks.of_document(connection, user_id, generation, row.pk)

    def neighbours(self, user_id: str, document_id: str, first: int, last: int) -> list[Chunk]:
        with self.database.snapshot() as connection:
            generation, _ = generations.serving(connection, user_id)
            if generation is None:
                return []
            return chunks.neighbours(connection, user_id, generation.pk, document_id, first, last)

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self.database.snapshot() as connection:
            return documents.sources(connection, self.find(user_id, document_id).pk)

    def collections(self, user_id: str) -> list[dict[str, Any]]:
        names = ("name", "chunker", "chunker_options", "system_prompt", "documents")
        with self.database.snapshot() as connection:
            rows = connection.execute(queries()["collections"], (user_id,))
            return [dict(zip(names, row, strict=True)) for row in rows]

    def counts(self, user_id: str) -> dict[str, Any]:
        with self.database.snapshot() as connection:
            ready, count, characters, size = connection.execute(queries()["counts"], (user_id,)).fetchone() or (0,) * 4
            by_status: dict[Any, Any] = dict(connection.execute(queries()["counts_by_status"], (user_id,)).fetchall())  # type: ignore[arg-type]
        return {"ready": ready, "chunks": count, "characters": characters, "bytes": size, "by_status": by_status}

    def generations(self, user_id: str) -> list[Generation]:
        with translated():
            return generations.listed(self.database.reader, user_id)

    # ── indexes

    def publish_changes(self, user_id: str, generation: Generation) -> None:
        """Let both indexes catch up, then let searches expect it: only now are documents ready."""
        seq = self._indexes.catch_up(generation)
        with self.database.transaction() as connection:
            connection.execute(queries()["mark_ready"], (user_id,))
            connection.execute(queries()["set_visible"], (seq, user_id))
        self._indexes.grow_graph_behind(generation)

    def grow_graph(self, generation: Generation, progress: Callable[[int, int], None] | None = None) -> bool:
        return self._indexes.grow_graph(generation, progress)

    @property
    def indexes(self) -> Indexes:
        return self._indexes

    # ── removing

    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, entries in both indexes."""
        rows = [self.find(user_id, document_id) for document_id in dict.fromkeys(document_ids)]
        with self.database.transaction() as connection:
            for row in rows:
                self.log_removal(connection, user_id, row)
                documents.drop(connection, user_id, row)
        self.after_removal(user_id)

    def after_removal(self, user_id: str) -> None:
        """Indexes forget what went, and the write-ahead log keeps no copy of it."""
        generation = self.serving(user_id)
        if generation is not None:
            self.publish_changes(user_id, generation)
        self.checkpoint()

    def log_removal(self, connection: apsw.Connection, user_id: str, row: DocumentRow) -> None:
        """Tell the indexes of every generation which keys went."""
        if row.current is None:
            return
        keys: dict[int, list[int]] = {}
        for generation, key in connection.execute(queries()["keys_of_version"], (row.current,)):
            keys.setdefault(generation, []).append(key)
        for generation, gone in keys.items():
            documents.log_change(connection, user_id, generation, row.pk, _ranges(gone))

    def checkpoint(self) -> None:
        with self.database.write_lock, translated():
            self.database.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def fail(self, user_id: str, row: DocumentRow, error: ErrorInfo) -> None:
        with self.database.transaction() as connection:
            documents.set_status(connection, user_id, row.pk, "failed", error)

    @staticmethod
    def _current(connection: apsw.Connection, user_id: str, document_id: str) -> DocumentRow:
        row = documents.find(connection, user_id, document_id)
        if row is None or row.current is None:
            raise NotFound(f"there is no document {document_id!r}")
        return row


def _ranges(keys: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted keys as runs of (first, count)."""
    runs: list[tuple[int, int]] = []
    for key in keys:
        if runs and key == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((key, 1))
    return runs
