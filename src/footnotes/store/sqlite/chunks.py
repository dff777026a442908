"""How a folder's store writes chunks and vectors, and reads chunks as hits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Row
from footnotes.store.packing import PIECE, half_vectors
from footnotes.store.records import Generation, HitRow, NewChunk, Place
from footnotes.store.rows import hit_row
from footnotes.store.texts import read_span


def put(cursor: Cursor, generation: int, document: int, version: int, chunks: Iterable[NewChunk]) -> None:
    where = {"generation": generation, "document": document, "version": version}
    cursor.many("put_chunks", ({**where, **_values(chunk)} for chunk in chunks))


def _values(chunk: NewChunk) -> dict[str, Any]:
    page_first, page_last = chunk.pages or (None, None)
    line_first, line_last = chunk.lines or (None, None)
    return {
        "chunk_index": chunk.index,
        "id": chunk.id,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "page_first": page_first,
        "page_last": page_last,
        "headings": json.dumps(chunk.headings, ensure_ascii=False) if chunk.headings else "[]",
        "tokens": chunk.tokens,
        "prefix": chunk.prefix,
        "metadata": json.dumps(dict(chunk.metadata), ensure_ascii=False) if chunk.metadata else "{}",
        "input_hash": chunk.input_hash,
        "parts": json.dumps(chunk.parts) if chunk.parts else "",
        "line_first": line_first,
        "line_last": line_last,
    }


def put_vectors(cursor: Cursor, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
    halves = half_vectors(vectors, generation.dimensions)
    put_halves(cursor, generation, {value: halves[i].tobytes() for i, value in enumerate(hashes)})


def put_halves(cursor: Cursor, generation: Generation, vectors: Mapping[bytes, bytes]) -> None:
    rows = ({"model": generation.model, "input_hash": key, "vector": vector} for key, vector in vectors.items())
    cursor.many("put_vectors", rows)


def places_of(cursor: Cursor, generation: int, keys: Sequence[int]) -> dict[int, Place]:
    """The document and span of each key; keys that are gone are left out."""
    rows = cursor.all("places_of_keys", generation=generation, keys=keys)
    return {row["key"]: (row["document"], row["start_offset"], row["end_offset"]) for row in rows}


def hits(cursor: Cursor, generation: int, keys: Sequence[int]) -> list[HitRow]:
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
