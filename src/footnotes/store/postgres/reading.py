"""What the PostgreSQL store knows, read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from footnotes.errors import NotFound, StoreReadOnly
from footnotes.store.base import BaseStore
from footnotes.store.missing import without_text
from footnotes.store.postgres import chunks, documents, generations, texts, upkeep
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.sql import queries
from footnotes.store.records import DocumentRow, Generation
from footnotes.types import Chunk, Document, Filter, Part


def refused(primary: str) -> StoreReadOnly:
    """What somebody is told who would change what is only read here."""
    where = primary or "a server of the primary database"
    return StoreReadOnly(f"the library can only be read here; {where} takes changes", remedy=f"Send it to {where}.")


class PostgresReading(BaseStore):
    """Everything that can be asked of documents; nothing is changed."""

    folder: Path
    database: Database

    def users(self) -> list[str]:
        with self.database.owning() as connection:
            return [row[0] for row in connection.fetch(queries()["user_ids"])]

    def size(self, user_id: str) -> int:
        """The tenant's share of the tables, by its chunks, and what it has in the folder."""
        with self.database.reading(user_id) as connection:
            share = upkeep.size(connection, user_id)
        return share + sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id."""
        with self.database.reading(user_id) as connection:
            return self._found(connection, user_id, document_id)

    @staticmethod
    def _found(connection: Connection, user_id: str, document_id: str) -> DocumentRow:
        row = documents.find(connection, user_id, document_id)
        if row is None:
            raise NotFound(f"there is no document {document_id!r}")
        return row

    def find_by_hash(self, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
        with self.database.reading(user_id) as connection:
            return documents.find_by_hash(connection, user_id, collection, file_hash)

    def find_by_source(self, user_id: str, collection: str, source: str) -> DocumentRow | None:
        with self.database.reading(user_id) as connection:
            return documents.find_by_source(connection, user_id, collection, source)

    def documents(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        with self.database.reading(user_id) as connection:
            return [row.document for row in documents.listed(connection, user_id, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        with self.database.raw_snapshot(user_id) as connection:
            row, version = self._current(connection, user_id, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            return texts.read_span(connection, user_id, version, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """The parts of a document as its parser gave them, one at a time: a document may be larger than memory."""
        with self.database.reading(user_id) as connection:
            _, version = self._current(connection, user_id, document_id)
        yield from texts.read_parts(self.database, user_id, version)

    def _current(self, connection: Connection, user_id: str, document_id: str) -> tuple[DocumentRow, int]:
        row = self._found(connection, user_id, document_id)
        if row.current is None:
            raise without_text(row.document)
        return row, row.current

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        with self.database.raw_snapshot(user_id) as connection:
            row, _ = self._current(connection, user_id, document_id)
            generation = generations.serving(connection, user_id)
            return [] if generation is None else chunks.of_document(connection, user_id, generation.pk, row.pk)

    def neighbours(self, user_id: str, document_id: str, first: int, last: int) -> list[Chunk]:
        with self.database.raw_snapshot(user_id) as connection:
            generation = generations.serving(connection, user_id)
            if generation is None:
                return []
            return chunks.neighbours(connection, user_id, generation.pk, document_id, first, last)

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self.database.reading(user_id) as connection:
            return documents.sources(connection, user_id, self._found(connection, user_id, document_id).pk)

    def collections(self, user_id: str) -> list[dict[str, Any]]:
        with self.database.reading(user_id) as connection:
            return [dict(row) for row in connection.fetch(queries()["collections"], user_id)]

    def counts(self, user_id: str) -> dict[str, Any]:
        with self.database.raw_snapshot(user_id) as connection:
            ready, count, characters, size = connection.row(queries()["counts"], user_id)
            by_status = {row[0]: row[1] for row in connection.fetch(queries()["counts_by_status"], user_id)}
            alike = PostgresCursor(connection, user_id).value("count_near_duplicates")
        found = {"ready": ready, "chunks": count, "characters": characters, "bytes": size, "by_status": by_status}
        return {**found, "near_duplicates": alike}

    def generations(self, user_id: str) -> list[Generation]:
        with self.database.reading(user_id) as connection:
            return generations.listed(connection, user_id)
