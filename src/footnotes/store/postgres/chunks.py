"""Chunks with their terms and vectors: written with a version, read as chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Database, Row
from footnotes.store.lexemes import Terms, chunk_terms, split_terms
from footnotes.store.packing import half_vectors
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.cursor import PostgresCursor, pack_json
from footnotes.store.postgres.statistics import TermCounts
from footnotes.store.postgres.words import Words, weighed
from footnotes.store.records import ChunkDraft, Generation
from footnotes.store.weights import FIELDS, Averages, averages_of, lengths_of

_ROWS_AT_ONCE = 125
"""So few that hardly any time is spent waiting for the last ones, and so many that statements cost little."""
_NOWHERE = (None, None)


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with its text and terms, ready to be weighted and written."""

    chunk: ChunkDraft
    text: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class Named:
    """The names of a document."""

    title: str
    filename: str


@dataclass(frozen=True, slots=True)
class Where:
    """The common data of a version's chunks. Unpublished chunks have their generation's number negated."""

    generation: int
    document: int
    document_id: str
    version: int


def analyzed(chunks: Iterable[ChunkDraft], text_of: Callable[[int, int], str], named: Named) -> Iterator[ChunkRow]:
    """Yield chunks with their terms, computed on demand."""
    for chunk in chunks:
        text = clean(text_of(chunk.start, chunk.end))
        if chunk.terms is not None:
            yield ChunkRow(chunk, text, split_terms(chunk.terms))
            continue
        metadata = clean_json(chunk.metadata)
        terms = chunk_terms(
            text,
            headings=chunk.headings,
            title=named.title,
            filename=named.filename,
            prefix=chunk.prefix,
            metadata=metadata,
        )
        yield ChunkRow(chunk, text, terms)


def averages_for(database: Database, user_id: str, generation: int, rows: Iterable[ChunkRow]) -> Averages:
    """Return the averages that weight a generation's terms; the first chunks set them for those that follow."""
    with database.read(user_id) as cursor:
        return averages_in(cursor, generation, rows)


def averages_in(cursor: Cursor, generation: int, rows: Iterable[ChunkRow]) -> Averages:
    known = cursor.one("averages", generation=generation)
    if (known is None or known["body"] is None) and (lengths := [lengths_of(row.terms) for row in rows]):
        averages = asdict(averages_of(lengths))
        cursor.run("set_first_averages", generation=generation, **averages, chunks=len(lengths))
        known = cursor.one("averages", generation=generation)
    return _as_averages(known)


def put(
    cursor: PostgresCursor,
    model: int,
    rows: Iterable[tuple[Where, ChunkRow]],
    averages: Averages,
    vectors: Callable[[bytes], object],
    counts: TermCounts | None = None,
) -> None:
    """Write chunks, some while the next ones are analysed. `vectors` gives those that were made before their chunk."""
    counts = counts or TermCounts(())
    left = iter(rows)
    with cursor.sending("put_chunks", model=model) as send:
        while batch := [_row(where, row, averages, vectors, counts) for where, row in islice(left, _ROWS_AT_ONCE)]:
            send(batch)


def _row(
    where: Where, row: ChunkRow, averages: Averages, vectors: Callable[[bytes], object], counts: TermCounts
) -> tuple[object, ...]:
    """What `put_chunks` takes of a chunk, in its order and fit for PostgreSQL."""
    chunk, words = row.chunk, weighed(row.terms, averages)
    counts.add(where.version, words)
    return (
        where.generation,
        where.document,
        where.document_id,
        where.version,
        chunk.index,
        chunk.id,
        chunk.start,
        chunk.end,
        *(chunk.pages or _NOWHERE),
        *(chunk.lines or _NOWHERE),
        chunk.tokens,
        *words.lengths,
        pack_json(chunk.headings) if chunk.headings else "[]",
        pack_json(chunk.parts) if chunk.parts else None,
        chunk.input_hash,
        clean(chunk.prefix),
        pack_json(chunk.metadata) if chunk.metadata else "{}",
        row.text,
        words.tsvector,
        words.weights,
        vectors(chunk.input_hash),
    )


def rewrite_words(cursor: Cursor, version: int, named: Named) -> None:
    """Rewrite the terms of a document's chunks after its title or file name changed. The caller updates statistics."""
    rows = cursor.all("words_of_version", version=version)
    averages = {
        pk: _as_averages(cursor.one("averages", generation=abs(pk))) for pk in {row["generation"] for row in rows}
    }
    put_words(cursor, [(row["key"], weighed(stored_terms(row, named), averages[row["generation"]])) for row in rows])


def put_words(cursor: Cursor, made: Sequence[tuple[int, Words]]) -> None:
    """Write the terms of chunks, by key."""
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
    """Return the terms of a stored chunk."""
    headings, metadata = json.loads(row["headings"]), json.loads(row["metadata"])
    return chunk_terms(row["content"], headings=headings, prefix=row["prefix"], metadata=metadata, **asdict(named))


def _as_averages(known: Row | None) -> Averages:
    """Return the averages of a generation; unknown ones and 0 count as 1."""
    return Averages() if known is None else Averages(**{field: known[field] or 1.0 for field in FIELDS})


def as_halves(generation: Generation, vectors: NDArray[np.float32]) -> list[object]:
    """Convert vectors to the driver's type."""
    from pgvector import HalfVector

    return [HalfVector(half) for half in half_vectors(vectors, generation.dimensions)]


def half_of(vectors: Mapping[bytes, bytes]) -> Callable[[bytes], object]:
    """Return a function that converts stored vectors to the driver's type, by input."""
    from pgvector import HalfVector

    return {key: HalfVector(np.frombuffer(vector, dtype="<f2")) for key, vector in vectors.items()}.get
