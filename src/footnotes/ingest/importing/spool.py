"""Everything that was read, on disk until all of it has come: a collection may be larger than memory.

Only when the last record has been read is the first one taken in, so that a source that breaks off leaves nothing
behind. The file lies in the library's folder for what is on its way in, and goes when the work is done.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnotes.errors import StoreFull, StoreUnavailable
from footnotes.ingest.importing.places import Order

_SCHEMA = """
PRAGMA page_size = 32768;
PRAGMA cache_size = -32768;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE records (
    number INTEGER PRIMARY KEY,       -- in the order they came
    document TEXT NOT NULL,           -- the document it is of; one that names none has a name of its own
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    vector BLOB,                      -- float32
    page INTEGER, place REAL, start REAL, line REAL, paged INTEGER NOT NULL, from_zero INTEGER NOT NULL
);
CREATE TABLE documents (
    name TEXT PRIMARY KEY,
    first INTEGER NOT NULL,
    ordered_by TEXT NOT NULL,
    page_offset INTEGER NOT NULL,
    file_hash TEXT UNIQUE,
    is_new INTEGER NOT NULL DEFAULT 1
);
"""
_COMPLETE = """
CREATE INDEX records_of_document ON records (document);
INSERT INTO documents (name, first, ordered_by, page_offset)
SELECT document, MIN(number),
    CASE WHEN COUNT(page) = COUNT(*) THEN 'page, ' ELSE '' END ||
    CASE WHEN COUNT(place) = COUNT(*) THEN 'place, ' ELSE '' END ||
    CASE WHEN COUNT(start) = COUNT(*) AND (COUNT(page) = COUNT(*) OR SUM(paged) = 0) THEN 'start, ' ELSE '' END ||
    CASE WHEN COUNT(line) = COUNT(*) AND (COUNT(page) = COUNT(*) OR SUM(paged) = 0) THEN 'line, ' ELSE '' END,
    MAX(from_zero)
FROM records GROUP BY document;
"""
"""A field orders a document where all its records have it. Offsets and lines may be those of a page, and mean nothing
where some records do not say which."""


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that has a text, on its way into the spool."""

    id: str
    text: str
    metadata: str
    tokens: int
    group: str | None
    order: Order
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class SpooledDocument:
    """A document to be: which records it has and in which order they stand. `group` is None for a lone record."""

    name: str
    ordered_by: str
    page_offset: int

    @property
    def group(self) -> str | None:
        return self.name[1:] if self.name.startswith("=") else None


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    id: str
    text: str
    metadata: dict[str, Any]
    packed: str
    tokens: int
    page: int | None
    vector: bytes | None


class Spool:
    """Records, then documents made of them. One writer, and readers after `complete`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "records.db"
        self.count = 0
        with _translated(self._path):
            self._path.unlink(missing_ok=True)
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            self._connection.executescript(_SCHEMA)
            self._connection.execute("BEGIN")

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._path.unlink(missing_ok=True)

    def put(self, record: NewRecord) -> None:
        name = f"={record.group}" if record.group is not None else f"#{self.count}"
        order = record.order
        place = (order.page, order.number, order.start, order.line, order.paged, order.from_zero)
        row = (self.count, name, record.id, record.text, record.metadata, record.tokens, record.vector, *place)
        with _translated(self._path):
            self._connection.execute(f"INSERT INTO records VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        self.count += 1

    def complete(self) -> None:
        """All records are there: join them to documents."""
        with _translated(self._path):
            self._connection.execute("COMMIT")
            self._connection.executescript(_COMPLETE)

    def documents(self, *, new_only: bool = False) -> Iterator[SpooledDocument]:
        """Documents in the order of their first records."""
        sql = "SELECT name, ordered_by, page_offset FROM documents WHERE is_new >= ? ORDER BY first"
        for row in self._rows(sql, int(new_only)):
            yield SpooledDocument(*row)

    def records_of(self, document: SpooledDocument) -> Iterator[SpooledRecord]:
        """The records of a document, in its order."""
        sql = "SELECT id, text, metadata, tokens, page, vector FROM records WHERE document = ? ORDER BY"
        for id_, text, packed, tokens, page, vector in self._rows(f"{sql} {document.ordered_by} number", document.name):
            shown = None if page is None else page + document.page_offset
            yield SpooledRecord(id_, text, json.loads(packed), packed, tokens, shown or None, vector)

    def is_first(self, document: SpooledDocument, file_hash: str) -> bool:
        """Note a document's hash; whether no other document before it had the same."""
        sql = "UPDATE OR IGNORE documents SET file_hash = ? WHERE name = ?"
        with _translated(self._path):
            return self._connection.execute(sql, (file_hash, document.name)).rowcount > 0

    def set_known(self, document: SpooledDocument) -> None:
        """This document is not to be taken over: the library has it, or an equal one came before it."""
        with _translated(self._path):
            self._connection.execute("UPDATE documents SET is_new = 0 WHERE name = ?", (document.name,))

    def vector_sizes(self) -> dict[int, int]:
        """How many vectors of new documents have so many bytes."""
        sql = "SELECT length(r.vector), COUNT(*) FROM records r JOIN documents d ON d.name = r.document"
        return dict(self._rows(f"{sql} WHERE d.is_new AND r.vector IS NOT NULL GROUP BY 1"))

    def sample(self, size: int, *, vector_bytes: int, most_tokens: int) -> list[tuple[str, bytes]]:
        """So many texts of new documents with their vectors, from all over the collection; none longer than asked."""
        fitting = (
            "FROM records r JOIN documents d ON d.name = r.document "
            "WHERE d.is_new AND length(r.vector) = ? AND (? = 0 OR r.tokens <= ?)"
        )
        bindings = (vector_bytes, most_tokens, most_tokens)
        ((count,),) = self._rows(f"SELECT COUNT(*) {fitting}", *bindings)
        ranked = f"SELECT r.text, r.vector, ROW_NUMBER() OVER (ORDER BY r.number) - 1 AS rank {fitting}"
        every = f"SELECT text, vector FROM ({ranked}) WHERE rank % ? = 0 LIMIT ?"  # noqa: S608
        return list(self._rows(every, *bindings, max(1, count // size), size))

    def _rows(self, sql: str, *bindings: Any) -> Iterator[Any]:
        with _translated(self._path):
            # Not `yield from`: whoever leaves in the middle would close the cursor of a file that is gone by then.
            for row in self._connection.execute(sql, bindings):  # noqa: UP028
                yield row


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        kind = StoreFull if full else StoreUnavailable
        raise kind(f"what was read cannot be kept in {path.parent} ({error})") from error
