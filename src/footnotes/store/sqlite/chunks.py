"""How a folder's store writes chunks and vectors, and reads chunks as hits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Row
from footnotes.store.packing import PIECE, half_vectors, pack_json
from footnotes.store.records import ChunkDraft, ChunkSpan, Generation, StoredHit
from footnotes.store.rows import hit_row
from footnotes.store.texts import read_span

Where: TypeAlias = tuple[str, int, int, int]
"""The tenant, the generation, the document and the version that a chunk is of."""


def put(cursor: Cursor, generation: int, document: int, version: int, chunks: Iterable[ChunkDraft]) -> None:
    where = (cursor.user_id, generation, document, version)
    cursor.insert("put_chunks", (row(where, chunk) for chunk in chunks))


def row(where: Where, chunk: ChunkDraft) -> tuple[Any, ...]:
    """A chunk as `put_chunks` writes it."""
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


def places_of(cursor: Cursor, generation: int, keys: Sequence[int]) -> dict[int, ChunkSpan]:
    """The document and span of each key; keys that are gone are left out."""
    rows = cursor.all("places_of_keys", generation=generation, keys=keys)
    return {row["key"]: (row["document"], row["start_offset"], row["end_offset"]) for row in rows}


def hits(cursor: Cursor, generation: int, keys: Sequence[int]) -> list[StoredHit]:
    """Chunks by key, those that are still served, in the order asked for."""
    return [hit_row(row, _text(cursor, row)) for row in cursor.all("hits", generation=generation, keys=keys)]


def _text(cursor: Cursor, row: Row) -> str:
    """The chunk's text, from the two pieces that came with its row; a longer one is read."""
    start, end, piece, next_piece = row["start_offset"], row["end_offset"], row["piece"], row["next_piece"]
    offset = start - start % PIECE
    if piece is not None and end <= offset + PIECE:
        return str(piece[start - offset : end - offset])
    if piece is not None and next_piece is not None and end <= offset + 2 * PIECE:
        return str(piece[start - offset :] + next_piece[: end - offset - PIECE])
    return read_span(cursor, row["version"], start, end)
