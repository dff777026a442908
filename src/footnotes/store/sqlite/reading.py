"""What the embedded store knows, read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from footnotes.errors import NotFound
from footnotes.store.base import BaseStore
from footnotes.store.missing import without_text
from footnotes.store.records import DocumentRow, Generation
from footnotes.store.sqlite import chunks, documents, generations, texts
from footnotes.store.sqlite.connection import Database, translated
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.sql import queries
from footnotes.types import Chunk, Document, Filter, Part


class SqliteReading(BaseStore):
    """Everything that can be asked of documents; nothing is changed."""

    folder: Path
    database: Database

    def users(self) -> list[str]:
        with translated():
            return [row[0] for row in self.database.reader.execute(queries()["user_ids"])]

    def size(self, user_id: str) -> int:
        """Bytes of the folder, with what other tenants have in it."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id."""
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
        with self.database.raw_snapshot() as connection:
            return [row.document for row in documents.listed(connection, user_id, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        with self.database.raw_snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            assert row.current is not None
            return texts.read_span(connection, row.current, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """The parts of a document as its parser gave them, one at a time: a document may be larger than memory."""
        with self.database.raw_snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            assert row.current is not None
            yield from texts.read_parts(connection, row.current)

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        with self.database.raw_snapshot() as connection:
            row = self._current(connection, user_id, document_id)
            generation, _ = generations.serving(connection, user_id)
            return [] if generation is None else chunks.of_document(connection, user_id, generation, row.pk)

    def neighbours(self, user_id: str, document_id: str, first: int, last: int) -> list[Chunk]:
        with self.database.raw_snapshot() as connection:
            generation, _ = generations.serving(connection, user_id)
            if generation is None:
                return []
            return chunks.neighbours(connection, user_id, generation.pk, document_id, first, last)

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self.database.raw_snapshot() as connection:
            return documents.sources(connection, self.find(user_id, document_id).pk)

    def collections(self, user_id: str) -> list[dict[str, Any]]:
        names = ("name", "chunker", "chunker_options", "system_prompt", "documents")
        with self.database.raw_snapshot() as connection:
            rows = connection.execute(queries()["collections"], (user_id,))
            return [dict(zip(names, row, strict=True)) for row in rows]

    def counts(self, user_id: str) -> dict[str, Any]:
        with self.database.raw_snapshot() as connection:
            ready, count, characters, size = connection.execute(queries()["counts"], (user_id,)).fetchone() or (0,) * 4
            by_status: dict[Any, Any] = dict(connection.execute(queries()["counts_by_status"], (user_id,)).fetchall())  # type: ignore[arg-type]
            alike = SqliteCursor(connection, user_id).value("count_near_duplicates")
        found = {"ready": ready, "chunks": count, "characters": characters, "bytes": size, "by_status": by_status}
        return {**found, "near_duplicates": alike}

    def generations(self, user_id: str) -> list[Generation]:
        with translated():
            return generations.listed(self.database.reader, user_id)

    @staticmethod
    def _current(connection: apsw.Connection, user_id: str, document_id: str) -> DocumentRow:
        row = documents.find(connection, user_id, document_id)
        if row is None:
            raise NotFound(f"there is no document {document_id!r}")
        if row.current is None:
            raise without_text(row.document)
        return row
