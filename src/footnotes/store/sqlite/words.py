"""Term statistics for BM25 while a vector database serves the lexical leg.

They are counted here, per tenant. A database's own counts span all tenants of a collection, so its scores would tell
one tenant how rare a word is among the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from footnotes.store.database import Cursor
from footnotes.store.lexemes import Terms
from footnotes.store.weights import FIELDS, Averages, averages_of, lengths_of, place

CHUNKS = -1
_LENGTHS = tuple(range(-2, -2 - len(FIELDS), -1))
GROWN, MOVED = 2.0, 0.1
"""Weights are recomputed when a library has doubled and the mean length has moved by a tenth."""


def averages(cursor: Cursor, generation: int) -> Averages | None:
    """Return the averages that weight a generation's terms; None if not measured yet."""
    row = cursor.one("word_averages", generation=generation)
    return None if row is None else Averages(**{field: row[field] for field in FIELDS})


def measure(cursor: Cursor, generation: int, terms: Sequence[Terms]) -> None:
    """Measure the averages of the first chunks."""
    if terms:
        found = averages_of([lengths_of(each) for each in terms])
        cursor.run("put_word_averages", generation=generation, **asdict(found), chunks=len(terms))


def measure_again(cursor: Cursor, generation: int) -> bool:
    """Measure the averages again if due; then all weights must be recomputed. Return whether it was due."""
    before = cursor.one("word_averages", generation=generation)
    counted = counts(cursor, generation, [CHUNKS, *_LENGTHS])
    chunks = counted.get(CHUNKS, 0)
    if before is None or chunks < GROWN * max(before["chunks"], 1):
        return False
    now = {field: max(counted.get(at, 0) / chunks, 1.0) for field, at in zip(FIELDS, _LENGTHS, strict=True)}
    if all(abs(now[field] / before[field] - 1) <= MOVED for field in FIELDS):
        return False
    cursor.run("put_word_averages", generation=generation, **now, chunks=chunks)
    return True


def counts(cursor: Cursor, generation: int, places: Iterable[int]) -> dict[int, int]:
    """Return the number of chunks with the terms at given places, without zeros."""
    rows = cursor.all("word_counts", generation=generation, places=list(places))
    return {row["place"]: row["chunks"] for row in rows}


def put(cursor: Cursor, generation: int, documents: Mapping[int, Sequence[Terms]]) -> None:
    """Replace the counts of documents with their current ones. Safe to repeat."""
    added: Counter[int] = Counter()
    for document, terms in documents.items():
        where = {"generation": generation, "document": document}
        before = cursor.value("document_words", **where)
        if before is not None:
            added.subtract(_unpack(before))
        if terms:
            counted = _count(terms)
            added.update(counted)
            cursor.run("put_document_words", **where, counts=_pack(counted))
        elif before is not None:
            cursor.run("drop_document_words", **where)
    rows = [{"generation": generation, "place": at, "chunks": number} for at, number in added.items() if number]
    cursor.many("add_word_count", rows)
    if any(number < 0 for number in added.values()):
        cursor.run("drop_empty_counts", generation=generation)


def _count(terms: Sequence[Terms]) -> Counter[int]:
    """Count the terms in the chunks of a document, by place."""
    counted: Counter[int] = Counter({CHUNKS: len(terms)})
    for each in terms:
        counted.update({place(field, term) for field in FIELDS for term in getattr(each, field)})
        counted.update(dict(zip(_LENGTHS, lengths_of(each), strict=True)))
    return counted


def _pack(counted: Mapping[int, int]) -> bytes:
    return np.array([list(counted), list(counted.values())], dtype=np.int64).astype("<i4").tobytes()


def _unpack(packed: bytes) -> dict[int, int]:
    places, numbers = np.frombuffer(packed, dtype="<i4").reshape(2, -1).tolist()
    return dict(zip(places, numbers, strict=True))
