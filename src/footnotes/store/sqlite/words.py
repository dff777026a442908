"""What BM25 needs to know of a tenant's words while a vector database serves the lexical leg.

Counted here, by tenant: a database that counts for itself counts over all tenants of a collection, and scores would
tell one of them how rare a word is among the others.
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
"""Weights are made again when a library has doubled since, and the average length has moved by a tenth."""


def averages(cursor: Cursor, generation: int) -> Averages | None:
    """The averages a generation is weighed by; None where nothing was measured yet."""
    row = cursor.one("word_averages", generation=generation)
    return None if row is None else Averages(**{field: row[field] for field in FIELDS})


def measure(cursor: Cursor, generation: int, terms: Sequence[Terms]) -> None:
    """Take the averages of the first chunks there are."""
    if terms:
        found = averages_of([lengths_of(each) for each in terms])
        cursor.run("put_word_averages", generation=generation, **asdict(found), chunks=len(terms))


def measure_again(cursor: Cursor, generation: int) -> bool:
    """Take the averages again where it is due: then all weights are to be made again. Says whether it was."""
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
    """In how many chunks the terms at some places stand; those in none are left out."""
    rows = cursor.all("word_counts", generation=generation, places=list(places))
    return {row["place"]: row["chunks"] for row in rows}


def put(cursor: Cursor, generation: int, documents: Mapping[int, Sequence[Terms]]) -> None:
    """Count documents as they are now, in place of what they were before. Doing it twice changes nothing."""
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
    """What the chunks of a document add, by place."""
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
