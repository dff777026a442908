"""Recomputes a generation's term weights when the mean length of its chunks has changed.

The weight of a term in a chunk depends on the chunk's length relative to the others (the b of BM25). It is computed
when the chunk is written, with the mean at that time. When a library has doubled since and the mean has moved, all
weights are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from footnotes.store.database import Cursor
from footnotes.store.lexemes import Terms
from footnotes.store.postgres.chunks import Named, put_words, stored_terms
from footnotes.store.postgres.words import weighed
from footnotes.store.records import Generation
from footnotes.store.weights import FIELDS, Averages, averages_of, lengths_of

GROWN, MOVED = 2.0, 0.1
AT_ONCE = 500


def if_due(cursor: Cursor, generation: Generation) -> bool:
    """Recompute the weights if due, on the owner's connection. Return whether they were."""
    row = cursor.one("measured", generation=generation.pk)
    if row is None or not row["chunks"]:
        return False
    now = {field: row[f"{field}_now"] for field in FIELDS}
    moved = any(_moved(row[field], now[field]) for field in FIELDS)
    if not moved or row["chunks"] < GROWN * max(row["weighed"], 1):
        return False
    # First, so that new chunks use the new averages; weighting them twice does no harm.
    cursor.run("set_averages", generation=generation.pk, **now, chunks=int(row["chunks"]))
    rewrite(cursor, generation.pk, Averages(**now))
    return True


def rewrite(cursor: Cursor, generation: int, averages: Averages | None = None) -> None:
    """Rewrite the terms of all chunks of a generation; without averages, measure its first chunks."""
    after = 0
    while rows := cursor.all("words_of_generation", generation=generation, after=after, limit=AT_ONCE):
        terms = [stored_terms(row, Named(row["title"], row["filename"])) for row in rows]
        averages = averages or _measure(cursor, generation, terms)
        weights = [(row["key"], weighed(each, averages)) for row, each in zip(rows, terms, strict=True)]
        put_words(cursor, weights)
        after = rows[-1]["key"]
    cursor.run("log_all_again", generation=generation)


def _measure(cursor: Cursor, generation: int, terms: Sequence[Terms]) -> Averages:
    """Measure the averages of some chunks, and store them as the generation's."""
    averages = averages_of([lengths_of(each) for each in terms])
    cursor.run("set_averages", generation=generation, **asdict(averages), chunks=len(terms))
    return averages


def _moved(before: float | None, now: float | None) -> bool:
    return bool(before and now and abs(now / before - 1) > MOVED)
