"""Weighs the words of a generation again when its chunks have become longer or shorter on average.

The weight of a term in a chunk depends on how long the chunk is beside the others (the b of BM25). It is computed when
the chunk is written, by the average of then; when a library has doubled since and the average has moved, all weights
are computed again.
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
    """Weigh again where it is due; the connection is the owner's. Says whether it was."""
    row = cursor.one("measured", generation=generation.pk)
    if row is None or not row["chunks"]:
        return False
    now = {field: row[f"{field}_now"] for field in FIELDS}
    moved = any(_moved(row[field], now[field]) for field in FIELDS)
    if not moved or row["chunks"] < GROWN * max(row["weighed"], 1):
        return False
    # Said first: what is written from now on is weighed by it already, and weighing it twice does no harm.
    cursor.run("set_averages", generation=generation.pk, **now, chunks=int(row["chunks"]))
    rewrite(cursor, generation.pk, Averages(**now))
    return True


def rewrite(cursor: Cursor, generation: int, averages: Averages | None = None) -> None:
    """Write the words of all chunks of a generation again; without averages, those of its first chunks are taken."""
    after = 0
    while rows := cursor.all("words_of_generation", generation=generation, after=after, limit=AT_ONCE):
        terms = [stored_terms(row, Named(row["title"], row["filename"])) for row in rows]
        averages = averages or _measure(cursor, generation, terms)
        made = [(row["key"], weighed(each, averages)) for row, each in zip(rows, terms, strict=True)]
        put_words(cursor, made)
        after = rows[-1]["key"]
    cursor.run("log_all_again", generation=generation)


def _measure(cursor: Cursor, generation: int, terms: Sequence[Terms]) -> Averages:
    """The averages of some chunks, which the generation is weighed by from now on."""
    averages = averages_of([lengths_of(each) for each in terms])
    cursor.run("set_averages", generation=generation, **asdict(averages), chunks=len(terms))
    return averages


def _moved(before: float | None, now: float | None) -> bool:
    return bool(before and now and abs(now / before - 1) > MOVED)
