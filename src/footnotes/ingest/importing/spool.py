"""Stores all records on disk until the last one is read: a collection may be larger than memory.

No document is imported before the last record is read, so a source that fails leaves nothing behind. The file is in
the library's folder for incoming files, and is removed at the end.
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
from footnotes.ingest.importing.fields import Order
from footnotes.store.statements import load_queries
from footnotes.types import JsonValue


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
    """A document of the spool. `group` is None for a lone record; `page_offset` is 1 if pages count from 0."""

    name: str
    page_offset: int

    @property
    def group(self) -> str | None:
        return self.name[1:] if self.name.startswith("=") else None


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    id: str
    text: str
    metadata: dict[str, JsonValue]
    packed: str
    tokens: int
    page: int | None
    vector: bytes | None


class Spool:
    """Records, and the documents built from them. One writer, and readers after `complete`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "records.db"
        self._queries = load_queries("footnotes.ingest.importing", "spool")
        self.count = 0
        with _translate_errors(self._path):
            self._path.unlink(missing_ok=True)
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            self._connection.executescript(self._queries["schema"].sql)
            self._run("begin")

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._path.unlink(missing_ok=True)

    def put(self, record: NewRecord) -> None:
        """Add a record."""
        name = f"={record.group}" if record.group is not None else f"#{self.count}"
        order = record.order
        place = (order.page, order.number, order.start, order.line, order.paged, order.from_zero)
        row = (self.count, name, record.id, record.text, record.metadata, record.tokens, record.vector, *place)
        self._run("add_record", *row)
        self.count += 1

    def complete(self) -> None:
        """Join the records to documents, when all are there."""
        self._run("commit")
        with _translate_errors(self._path):
            self._connection.executescript(self._queries["complete"].sql)

    def documents(self, *, new_only: bool = False) -> Iterator[SpooledDocument]:
        """Yield documents in the order of their first records."""
        for name, page_offset in self._rows("documents", int(new_only)):
            yield SpooledDocument(name, page_offset)

    def records_of(self, document: SpooledDocument) -> Iterator[SpooledRecord]:
        """Yield the records of a document, in its order."""
        for id_, text, packed, tokens, page, vector in self._rows("records", document.name):
            page_shown = None if page is None else page + document.page_offset
            yield SpooledRecord(id_, text, json.loads(packed), packed, tokens, page_shown or None, vector)

    def is_first(self, document: SpooledDocument, file_hash: str) -> bool:
        """Store a document's hash; False if an earlier document has the same."""
        return self._run("set_hash", file_hash, document.name) > 0

    def set_known(self, document: SpooledDocument) -> None:
        """Mark a document to skip: the library has it, or an equal one was read before."""
        self._run("set_known", document.name)

    def vector_sizes(self) -> dict[int, int]:
        """Count the vectors of new documents, by their size in bytes."""
        return dict(self._rows("vector_sizes"))

    def sample(self, size: int, *, vector_bytes: int, most_tokens: int) -> list[tuple[str, bytes]]:
        """Sample texts of new documents with their vectors, from the whole collection; 0 tokens is no limit."""
        ((count,),) = self._rows("count_fitting", vector_bytes, most_tokens)
        return list(self._rows("sample", vector_bytes, most_tokens, max(1, count // size), size))

    def _run(self, query: str, *values: object) -> int:
        with _translate_errors(self._path):
            return self._connection.execute(self._queries[query].sql, values).rowcount

    def _rows(self, query: str, *values: object) -> Iterator[Any]:
        with _translate_errors(self._path):
            # Not `yield from`: a caller that stops in the middle would close the cursor of a removed file.
            for row in self._connection.execute(self._queries[query].sql, values):  # noqa: UP028
                yield row


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        kind = StoreFull if full else StoreUnavailable
        raise kind(f"cannot store the records in {path.parent} ({error})") from error
