"""Chunks with their words and vectors: written with a version, read as chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Database, Row
from footnotes.store.lexemes import Terms, chunk_terms
from footnotes.store.packing import half_vectors
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.cursor import pack_json
from footnotes.store.postgres.words import Words, weighed
from footnotes.store.records import ChunkDraft, Generation
from footnotes.store.weights import FIELDS, Averages, averages_of, lengths_of

_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with its text and terms, ready to be weighed and written."""

    chunk: ChunkDraft
    text: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class Named:
    """What a document is called."""

    title: str
    filename: str


@dataclass(frozen=True, slots=True)
class Where:
    """What the chunks of a version have in common. Chunks that are not served stand under minus their generation."""

    generation: int
    document: int
    document_id: str
    version: int


def analyzed(chunks: Iterable[ChunkDraft], text_of: Callable[[int, int], str], named: Named) -> list[ChunkRow]:
    """Chunks with their terms: the costly part, done before any row is locked."""
    rows = []
    for chunk in chunks:
        text = clean(text_of(chunk.start, chunk.end))
        metadata = clean_json(chunk.metadata)
        terms = chunk_terms(
            text,
            headings=chunk.headings,
            title=named.title,
            filename=named.filename,
            prefix=chunk.prefix,
            metadata=metadata,
        )
        rows.append(ChunkRow(chunk, text, terms))
    return rows


def averages_for(database: Database, user_id: str, generation: int, rows: Sequence[ChunkRow]) -> Averages:
    """The averages by which a generation's words are weighed; the first chunks to come decide for those that follow."""
    with database.read(user_id) as cursor:
        return averages_in(cursor, generation, rows)


def averages_in(cursor: Cursor, generation: int, rows: Sequence[ChunkRow]) -> Averages:
    known = cursor.one("averages", generation=generation)
    if (known is None or known["body"] is None) and rows:
        lengths = averages_of([lengths_of(row.terms) for row in rows])
        cursor.run("set_first_averages", generation=generation, **asdict(lengths), chunks=len(rows))
        known = cursor.one("averages", generation=generation)
    return _as_averages(known)


def put(
    cursor: Cursor,
    model: int,
    rows: Sequence[tuple[Where, ChunkRow]],
    averages: Averages,
    vectors: Callable[[bytes], Any],
) -> None:
    """Write chunks. `vectors` gives those that were made before their chunk was there."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batch = rows[start : start + _ROWS_AT_ONCE]
        cursor.many("put_chunks", [{"model": model, **_row(where, row, averages, vectors)} for where, row in batch])


def _row(where: Where, row: ChunkRow, averages: Averages, vectors: Callable[[bytes], Any]) -> dict[str, Any]:
    chunk, words = row.chunk, weighed(row.terms, averages)
    page_first, page_last = chunk.pages or (None, None)
    line_first, line_last = chunk.lines or (None, None)
    return {
        "generation": where.generation,
        "document": where.document,
        "document_id": where.document_id,
        "version": where.version,
        "chunk_index": chunk.index,
        "id": chunk.id,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "page_first": page_first,
        "page_last": page_last,
        "line_first": line_first,
        "line_last": line_last,
        "tokens": chunk.tokens,
        **_lengths(words),
        "headings": pack_json(chunk.headings) if chunk.headings else "[]",
        "parts": pack_json(chunk.parts) if chunk.parts else None,
        "input_hash": chunk.input_hash,
        "prefix": chunk.prefix,
        "metadata": pack_json(chunk.metadata) if chunk.metadata else "{}",
        "content": row.text,
        "content_tsv": words.tsvector,
        "words": words.weights,
        "embedding": vectors(chunk.input_hash),
    }


def rewrite_words(cursor: Cursor, version: int, named: Named) -> None:
    """A document has another title or file name: its chunks are found by other words. Statistics are the caller's."""
    rows = cursor.all("words_of_version", version=version)
    averages = {
        pk: _as_averages(cursor.one("averages", generation=abs(pk))) for pk in {row["generation"] for row in rows}
    }
    put_words(cursor, [(row["key"], weighed(stored_terms(row, named), averages[row["generation"]])) for row in rows])


def put_words(cursor: Cursor, made: Sequence[tuple[int, Words]]) -> None:
    """Write what is kept of the terms of chunks, by their keys."""
    cursor.many(
        "rewrite_words",
        [
            {"key": key, "content_tsv": words.tsvector, "words": words.weights.to_text(), **_lengths(words)}
            for key, words in made
        ],
    )


def _lengths(words: Words) -> dict[str, int]:
    return {f"{field}_length": length for field, length in zip(FIELDS, words.lengths, strict=True)}


def stored_terms(row: Row, named: Named) -> Terms:
    """The terms of a chunk as it is stored."""
    headings, metadata = json.loads(row["headings"]), json.loads(row["metadata"])
    return chunk_terms(row["content"], headings=headings, prefix=row["prefix"], metadata=metadata, **asdict(named))


def _as_averages(known: Row | None) -> Averages:
    """The averages of a generation; those that are not known, or 0, count as 1."""
    return Averages() if known is None else Averages(**{field: known[field] or 1.0 for field in FIELDS})


def as_halves(generation: Generation, vectors: NDArray[np.float32]) -> list[Any]:
    """Vectors as the driver sends them."""
    from pgvector import HalfVector

    return [HalfVector(half) for half in half_vectors(vectors, generation.dimensions)]


def half_of(vectors: Mapping[bytes, bytes]) -> Callable[[bytes], Any]:
    """Stored vectors as the driver sends them, by their inputs."""
    from pgvector import HalfVector

    return {key: HalfVector(np.frombuffer(vector, dtype="<f2")) for key, vector in vectors.items()}.get
