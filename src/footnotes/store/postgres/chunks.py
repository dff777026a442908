"""Chunks with their words and vectors: written with a version, read as chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.store.lexemes import Terms, chunk_terms
from footnotes.store.packing import half_vectors
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.rows import chunk_from
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.words import Words, weighed
from footnotes.store.records import Generation, NewChunk
from footnotes.store.weights import FIELDS, Averages
from footnotes.types import Chunk

_ROWS_AT_ONCE = 1_000
_HASHES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class NewRow:
    """A chunk with its text and terms, ready to be weighed and written."""

    chunk: NewChunk
    text: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class Where:
    """What the chunks of a version have in common. Chunks that are not served stand under minus their generation."""

    generation: int
    document: int
    document_id: str
    version: int


def analyzed(chunks: Iterable[NewChunk], text_of: Callable[[int, int], str], title: str) -> list[NewRow]:
    """Chunks with their terms: the costly part, done before any row is locked."""
    rows = []
    for chunk in chunks:
        text = clean(text_of(chunk.start, chunk.end))
        terms = chunk_terms(
            text, headings=chunk.headings, title=title, prefix=chunk.prefix, metadata=clean_json(chunk.metadata)
        )
        rows.append(NewRow(chunk, text, terms))
    return rows


def averages_for(database: Database, user_id: str, generation: int, rows: Sequence[NewRow]) -> Averages:
    """The averages by which a generation's words are weighed; the first chunks to come decide for those that follow."""
    with database.reading(user_id) as connection:
        return averages_in(connection, user_id, generation, rows)


def averages_in(connection: Connection, user_id: str, generation: int, rows: Sequence[NewRow]) -> Averages:
    known = connection.row(queries()["averages"], user_id, generation)
    if (known is None or known[0] is None) and rows:
        lengths = [[len(getattr(row.terms, field)) for field in FIELDS] for row in rows]
        values = [max(sum(column) / len(rows), 1.0) for column in zip(*lengths, strict=True)]
        connection.execute(queries()["set_averages"], user_id, generation, *values, len(rows))
        known = connection.row(queries()["averages"], user_id, generation)
    return _as_averages(known)


def put(
    connection: Connection,
    user_id: str,
    model: int,
    rows: Sequence[tuple[Where, NewRow]],
    averages: Averages,
    vectors: Callable[[bytes], Any],
) -> None:
    """Write chunks. `vectors` gives those that were made before their chunk was there."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batch = [_row(where, row, averages, vectors) for where, row in rows[start : start + _ROWS_AT_ONCE]]
        columns = [list(column) for column in zip(*batch, strict=True)]
        connection.execute(queries()["put_chunks"], user_id, model, *columns)


def _row(where: Where, row: NewRow, averages: Averages, vectors: Callable[[bytes], Any]) -> tuple[Any, ...]:
    chunk = row.chunk
    words = weighed(row.terms, averages)
    return (
        *(where.generation, where.document, where.document_id, where.version),
        *(chunk.index, chunk.id, chunk.start, chunk.end),
        *(chunk.pages or (None, None)),
        *(chunk.lines or (None, None)),
        *(chunk.tokens, *words.lengths),
        _json(chunk.headings) if chunk.headings else "[]",
        _json(chunk.parts) if chunk.parts else None,
        chunk.input_hash,
        clean(chunk.prefix),
        _json(chunk.metadata) if chunk.metadata else "{}",
        *(row.text, words.tsvector, words.weights),
        vectors(chunk.input_hash),
    )


def rewrite_words(connection: Connection, user_id: str, version: int, title: str) -> None:
    """A document has another title: its chunks are found by other words. Statistics are the caller's."""
    rows = connection.fetch(queries()["words_of_version"], user_id, version)
    averages = {row["generation"]: _averages(connection, user_id, abs(row["generation"])) for row in rows}
    made: list[tuple[int, Words]] = []
    for row in rows:
        made.append((row["key"], weighed(stored_terms(row, title), averages[row["generation"]])))
    put_words(connection, user_id, made)


def put_words(connection: Connection, user_id: str, made: Sequence[tuple[int, Words]]) -> None:
    """Write what is kept of the terms of chunks, by their keys."""
    if not made:
        return
    keys, words = zip(*made, strict=True)
    columns = ([w.tsvector for w in words], [w.weights.to_text() for w in words])
    lengths = [list(column) for column in zip(*(w.lengths for w in words), strict=True)]
    connection.execute(queries()["rewrite_words"], user_id, list(keys), *columns, *lengths)


def stored_terms(row: Any, title: str) -> Terms:
    """The terms of a chunk as it is stored."""
    headings, metadata = json.loads(row["headings"]), json.loads(row["metadata"])
    return chunk_terms(row["content"], headings=headings, title=title, prefix=row["prefix"], metadata=metadata)


def _averages(connection: Connection, user_id: str, generation: int) -> Averages:
    return _as_averages(connection.row(queries()["averages"], user_id, generation))


def _as_averages(known: Any) -> Averages:
    """The averages of a generation; those that are not known, or 0, count as 1."""
    return Averages() if known is None else Averages(*(value or 1.0 for value in known))


def missing_vectors(connection: Connection, user_id: str, model: int, hashes: Iterable[bytes]) -> list[bytes]:
    """Which inputs have not been embedded by the model yet, each once, in order."""
    wanted = list(dict.fromkeys(hashes))
    known: set[bytes] = set()
    for start in range(0, len(wanted), _HASHES_AT_ONCE):
        batch = wanted[start : start + _HASHES_AT_ONCE]
        known.update(row[0] for row in connection.fetch(queries()["known_embeddings"], user_id, model, batch))
    return [value for value in wanted if value not in known]


def as_halves(generation: Generation, vectors: NDArray[np.float32]) -> list[Any]:
    """Vectors as the driver sends them."""
    from pgvector import HalfVector

    return [HalfVector(half) for half in half_vectors(vectors, generation.dimensions)]


def of_document(connection: Connection, user_id: str, generation: int, pk: int) -> list[Chunk]:
    rows = connection.fetch(queries()["chunks_of_document"], user_id, generation, pk)
    return [chunk_from(row) for row in rows]


def neighbours(
    connection: Connection, user_id: str, generation: int, document_id: str, first: int, last: int
) -> list[Chunk]:
    rows = connection.fetch(queries()["neighbours"], user_id, generation, document_id, first, last)
    return [chunk_from(row) for row in rows]


def _json(value: Any) -> str:
    return json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False)
