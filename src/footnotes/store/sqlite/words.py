"""What BM25 needs to know of a tenant's words while a vector database serves the lexical leg.

Counted here, by tenant: a database that counts for itself counts over all tenants of a collection, and scores would
tell one of them how rare a word is among the others.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import apsw
import numpy as np

from footnotes.store.lexemes import Terms
from footnotes.store.sqlite.sql import queries
from footnotes.store.weights import FIELDS, Averages, averages_of, lengths_of, place

CHUNKS = -1
_LENGTHS = tuple(range(-2, -2 - len(FIELDS), -1))
GROWN, MOVED = 2.0, 0.1
"""Weights are made anew when a library has doubled since, and the average length has moved by a tenth."""


def averages(connection: apsw.Connection, generation: int) -> Averages | None:
    """The averages a generation is weighed by; None where nothing was measured yet."""
    row: Any = connection.execute(queries()["word_averages"], (generation,)).fetchone()
    return None if row is None else Averages(*row[:4])


def measure(connection: apsw.Connection, generation: int, terms: Sequence[Terms]) -> None:
    """Take the averages of the first chunks there are."""
    if terms:
        found = averages_of([lengths_of(each) for each in terms])
        connection.execute(queries()["put_word_averages"], (generation, *astuple(found), len(terms)))


def measure_again(connection: apsw.Connection, generation: int) -> bool:
    """Take the averages anew where it is due: then all weights are to be made anew. Says whether it was."""
    before: Any = connection.execute(queries()["word_averages"], (generation,)).fetchone()
    counted = counts(connection, generation, [CHUNKS, *_LENGTHS])
    chunks = counted.get(CHUNKS, 0)
    if before is None or chunks < GROWN * max(before[4], 1):
        return False
    now = [max(counted.get(at, 0) / chunks, 1.0) for at in _LENGTHS]
    if all(abs(new / old - 1) <= MOVED for new, old in zip(now, before[:4], strict=True)):
        return False
    connection.execute(queries()["put_word_averages"], (generation, *now, chunks))
    return True


def counts(connection: apsw.Connection, generation: int, places: Iterable[int]) -> dict[int, int]:
    """In how many chunks the terms at some places stand; those in none are left out."""
    table = apsw.carray(array("q", places), flags=apsw.SQLITE_CARRAY_INT64)
    rows: Any = connection.execute(queries()["word_counts"], (table, generation)).fetchall()
    return dict(rows)


def put(connection: apsw.Connection, generation: int, documents: Mapping[int, Sequence[Terms]]) -> None:
    """Count documents as they are now, in place of what they were before. Doing it twice changes nothing."""
    added: Counter[int] = Counter()
    for document, terms in documents.items():
        before: Any = connection.execute(queries()["document_words"], (generation, document)).fetchone()
        if before is not None:
            added.subtract(_unpacked(before[0]))
        if terms:
            counted = _counted(terms)
            added.update(counted)
            connection.execute(queries()["put_document_words"], (generation, document, _packed(counted)))
        elif before is not None:
            connection.execute(queries()["drop_document_words"], (generation, document))
    rows = [(generation, at, number) for at, number in added.items() if number]
    connection.executemany(queries()["add_word_count"], rows)
    if any(number < 0 for number in added.values()):
        connection.execute(queries()["drop_empty_counts"], (generation,))


def _counted(terms: Sequence[Terms]) -> Counter[int]:
    """What the chunks of a document add, by place."""
    counted: Counter[int] = Counter({CHUNKS: len(terms)})
    for each in terms:
        counted.update({place(field, term) for field in FIELDS for term in getattr(each, field)})
        counted.update(dict(zip(_LENGTHS, lengths_of(each), strict=True)))
    return counted


def _packed(counted: Mapping[int, int]) -> bytes:
    return np.array([list(counted), list(counted.values())], dtype=np.int64).astype("<i4").tobytes()


def _unpacked(packed: bytes) -> dict[int, int]:
    places, numbers = np.frombuffer(packed, dtype="<i4").reshape(2, -1).tolist()
    return dict(zip(places, numbers, strict=True))
