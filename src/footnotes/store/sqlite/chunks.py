"""Writes chunks and vectors of a folder's store, and reads chunks as hits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Row
from footnotes.store.packing import PIECE, half_vectors, pack_json
from footnotes.store.records import ChunkDraft, ChunkSpan, Generation, StoredHit
from footnotes.store.rows import hit_row
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.texts import read_span

Where: TypeAlias = tuple[str, int, int, int]
"""The tenant, generation, document and version of a chunk."""


def put(cursor: Cursor, generation: int, document: int, version: int, chunks: Iterable[ChunkDraft]) -> None:
    where = (cursor.user_id, generation, document, version)
    cursor.insert("put_chunks", (row(where, chunk) for chunk in chunks))


def row(where: Where, chunk: ChunkDraft) -> tuple[object, ...]:
    """Return a chunk as a row for `put_chunks`."""
    return (
        *where,
        chunk.index,
        chunk.id,
        chunk.start,
        chunk.end,
        *(chunk.pages or (None, None)),
        pack_json(list(chunk.headings)),
        chunk.tokens,
        chunk.prefix,
        pack_json(dict(chunk.metadata)),
        chunk.input_hash,
        json.dumps(chunk.parts) if chunk.parts else "",
        *(chunk.lines or (None, None)),
    )


def put_vectors(cursor: Cursor, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
    halves = half_vectors(vectors, generation.dimensions)
    put_halves(cursor, generation, {value: halves[i].tobytes() for i, value in enumerate(hashes)})


def put_halves(cursor: Cursor, generation: Generation, vectors: Mapping[bytes, bytes]) -> None:
    user_id, model = cursor.user_id, generation.model
    cursor.insert("put_vectors", ((user_id, model, key, vector) for key, vector in vectors.items()))


def places_of(cursor: SqliteCursor, generation: int, keys: Sequence[int]) -> dict[int, ChunkSpan]:
    """The document and span of each key; keys that are gone are left out."""
    rows: list[tuple[int, int, int, int]] = cursor.rows("places_of_keys", generation=generation, keys=keys)
    return {key: (document, start, end) for key, document, start, end in rows}


def hits(cursor: Cursor, generation: int, keys: Sequence[int]) -> list[StoredHit]:
    """Return the published chunks among the given keys, in the given order."""
    return [hit_row(row, _text(cursor, row)) for row in cursor.all("hits", generation=generation, keys=keys)]


def _text(cursor: Cursor, row: Row) -> str:
    """Return the chunk's text from the two pieces in its row; read more for a longer one."""
    start, end, piece, next_piece = row["start_offset"], row["end_offset"], row["piece"], row["next_piece"]
    offset = start - start % PIECE
    if piece is not None and end <= offset + PIECE:
        return str(piece[start - offset : end - offset])
    if piece is not None and next_piece is not None and end <= offset + 2 * PIECE:
        return str(piece[start - offset :] + next_piece[: end - offset - PIECE])
    return read_span(cursor, row["version"], start, end)
