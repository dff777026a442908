"""Reads chunks, and finds inputs without vectors."""

from __future__ import annotations

from collections.abc import Iterable

from footnotes.store.database import Cursor, Row
from footnotes.store.rows import chunk_from
from footnotes.store.texts import SpanReader
from footnotes.types import Chunk

_HASHES_AT_ONCE = 10_000


def of_document(cursor: Cursor, generation: int, pk: int) -> list[Chunk]:
    return _chunks(cursor, cursor.all("chunks_of_document", generation=generation, document=pk))


def neighbours(cursor: Cursor, generation: int, document_id: str, first: int, last: int) -> list[Chunk]:
    return _chunks(cursor, cursor.all("neighbours", generation=generation, id=document_id, first=first, last=last))


def _chunks(cursor: Cursor, rows: list[Row]) -> list[Chunk]:
    if not rows:
        return []
    reader = SpanReader(cursor, rows[0]["version"])
    return [chunk_from(row, _text(reader, row)) for row in rows]


def _text(reader: SpanReader, row: Row) -> str:
    content: str | None = row["content"]
    return reader.read(row["start_offset"], row["end_offset"]) if content is None else content


def missing_vectors(cursor: Cursor, model: int, hashes: Iterable[bytes]) -> list[bytes]:
    """Return the inputs that the model has not embedded yet, each once, in order."""
    wanted = list(dict.fromkeys(hashes))
    known: set[bytes] = set()
    for start in range(0, len(wanted), _HASHES_AT_ONCE):
        batch = wanted[start : start + _HASHES_AT_ONCE]
        known.update(row["input_hash"] for row in cursor.all("known_vectors", model=model, hashes=batch))
    return [value for value in wanted if value not in known]
