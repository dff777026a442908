"""Chunks and their vectors: written with a version, read as chunks or as hits."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from footnotes.store.packing import PIECE, half_vectors, unpack_headings
from footnotes.store.records import Generation, HitRow, NewChunk, Place
from footnotes.store.sqlite.rows import chunk_from
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import read_span
from footnotes.types import Chunk

_ASKED_AT_ONCE = 256


def put(
    connection: apsw.Connection, user_id: str, generation: int, document: int, version: int, chunks: Iterable[NewChunk]
) -> None:
    def rows() -> Iterable[tuple[Any, ...]]:
        for c in chunks:
            first, last = c.pages or (None, None)
            headings = json.dumps(c.headings, ensure_ascii=False) if c.headings else "[]"
            metadata = json.dumps(dict(c.metadata), ensure_ascii=False) if c.metadata else "{}"
            identity = (user_id, generation, document, version, c.index, c.id, c.start, c.end)
            parts = json.dumps(c.parts) if c.parts else ""
            lines = c.lines or (None, None)
            yield (*identity, first, last, headings, c.tokens, c.prefix, metadata, c.input_hash, parts, *lines)

    connection.executemany(queries()["put_chunk"], rows())


def put_vectors(
    connection: apsw.Connection, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
) -> None:
    halves = half_vectors(vectors, generation.dimensions)
    rows = ((generation.user_id, generation.model, value, halves[i].tobytes()) for i, value in enumerate(hashes))
    connection.executemany(queries()["put_embedding"], rows)


def missing_vectors(connection: apsw.Connection, user_id: str, model: int, hashes: Iterable[bytes]) -> list[bytes]:
    """Which inputs have not been embedded by the model yet, each once, in order."""
    wanted = list(dict.fromkeys(hashes))
    known: set[bytes] = set()
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        batch = wanted[start : start + _ASKED_AT_ONCE]
        statement = queries()["known_embeddings"].replace("(?3)", f"({', '.join('?' * len(batch))})")
        known.update(row[0] for row in connection.execute(statement, (user_id, model, *batch)))
    return [value for value in wanted if value not in known]


def of_document(connection: apsw.Connection, user_id: str, generation: Generation, pk: int) -> list[Chunk]:
    rows = list(connection.execute(queries()["chunks_of_document"], (generation.pk, user_id, pk)))
    return [chunk_from(row, read_span(connection, row[12], row[4], row[5])) for row in rows]


def neighbours(
    connection: apsw.Connection, user_id: str, generation: int, document_id: str, first: int, last: int
) -> list[Chunk]:
    rows = list(connection.execute(queries()["neighbours"], (generation, user_id, document_id, first, last)))
    return [chunk_from(row, read_span(connection, row[12], row[4], row[5])) for row in rows]


def places_of(connection: apsw.Connection, user_id: str, generation: int, keys: Sequence[int]) -> dict[int, Place]:
    """The document and span of each key; keys that are gone are left out."""
    bindings = (as_table(keys), user_id, generation)
    rows: list[Any] = connection.execute(queries()["places_of_keys"], bindings).fetchall()
    return {key: (document, start, end) for key, document, start, end in rows}


def hits(connection: apsw.Connection, user_id: str, generation: int, keys: Sequence[int]) -> list[HitRow]:
    """Chunks by key, those that are still served, in the order asked for."""
    rows = connection.execute(queries()["hits"], (as_table(keys), user_id, generation)).fetchall()
    return [_hit(connection, row) for row in rows]


def as_table(keys: Sequence[int]) -> Any:
    """Keys as a table a statement can read."""
    return apsw.carray(array("q", keys), flags=apsw.SQLITE_CARRAY_INT64)


def _hit(connection: apsw.Connection, row: tuple[Any, ...]) -> HitRow:
    (key, chunk_id, document_id, filename, title, collection, version, start, end, first, last, headings) = row[:12]
    index, metadata, document_metadata, mime, piece, next_piece, total, line_first, line_last = row[12:]
    merged = {**_unpacked(document_metadata), **_unpacked(metadata)}
    return HitRow(
        key=key,
        chunk_id=chunk_id,
        document_id=document_id,
        filename=filename,
        title=title,
        collection=collection,
        text=_text(connection, version, start, end, piece, next_piece),
        start=start,
        end=end,
        pages=None if first is None else (first, last),
        headings=unpack_headings(headings),
        index=index,
        metadata=merged,
        mime=mime,
        total=total,
        lines=None if line_first is None else (line_first, line_last),
    )


@lru_cache(maxsize=1_024)
def _unpacked(packed: str) -> dict[str, Any]:
    """Metadata repeats from hit to hit. Callers copy it."""
    unpacked: dict[str, Any] = json.loads(packed)
    return unpacked


def _text(
    connection: apsw.Connection, version: int, start: int, end: int, piece: str | None, next_piece: str | None
) -> str:
    """The chunk's text, from the two pieces that came with its row; a longer one is read."""
    offset = start - start % PIECE
    if piece is not None and end <= offset + PIECE:
        return piece[start - offset : end - offset]
    if piece is not None and next_piece is not None and end <= offset + 2 * PIECE:
        return piece[start - offset :] + next_piece[: end - offset - PIECE]
    return read_span(connection, version, start, end)
