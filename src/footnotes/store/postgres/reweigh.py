"""Weighs the words of a generation anew when its chunks have become longer or shorter on average.

The weight of a term in a chunk depends on how long the chunk is beside the others (the b of BM25). It is computed when
the chunk is written, by the average of then; when a library has doubled since and the average has moved, all weights
are computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

from footnotes.store.lexemes import Terms
from footnotes.store.postgres.chunks import put_words, stored_terms
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.words import weighed
from footnotes.store.records import Generation
from footnotes.store.weights import Averages, averages_of, lengths_of

GROWN, MOVED = 2.0, 0.1
AT_ONCE = 500

_MEASURED = """
SELECT g.body_average, g.title_average, g.section_average, g.symbols_average,
       s.body / NULLIF(s.chunks, 0), s.title / NULLIF(s.chunks, 0), s.section / NULLIF(s.chunks, 0),
       s.symbols / NULLIF(s.chunks, 0), g.weighed, s.chunks
FROM generations g, (
    SELECT COALESCE(sum(body) FILTER (WHERE term = ' chunks'), 0)::float8 AS chunks,
           COALESCE(sum(body) FILTER (WHERE term = ' length'), 0)::float8 AS body,
           COALESCE(sum(title) FILTER (WHERE term = ' length'), 0)::float8 AS title,
           COALESCE(sum(section) FILTER (WHERE term = ' length'), 0)::float8 AS section,
           COALESCE(sum(symbols) FILTER (WHERE term = ' length'), 0)::float8 AS symbols
    FROM statistics WHERE generation = $1 AND term IN (' chunks', ' length')) s
WHERE g.pk = $1
"""
_SET = """
UPDATE generations SET body_average = $2, title_average = $3, section_average = $4, symbols_average = $5, weighed = $6
WHERE pk = $1
"""

_LOG_AGAIN = """
WITH again AS (
    SELECT c.document, row_number() OVER (ORDER BY c.document) AS number
    FROM index_changes c JOIN documents d ON d.pk = c.document
    WHERE c.generation = $2 AND EXISTS (SELECT 1 FROM shelves s WHERE s.generation = $2 AND s.words <> '')
), taken AS (
    UPDATE users SET logged = logged + (SELECT count(*) FROM again) WHERE user_id = $1 RETURNING logged
)
UPDATE index_changes c SET seq = t.logged - (SELECT count(*) FROM again) + a.number FROM again a, taken t
WHERE c.generation = $2 AND c.document = a.document
"""
"""A vector database that has the words weighed otherwise is brought all of them again, in place of what it has."""


def if_due(connection: Connection, generation: Generation) -> bool:
    """Weigh anew where it is due; the connection is the owner's. Says whether it was."""
    row = connection.row(_MEASURED, generation.pk)
    if row is None or not row[9]:
        return False
    before, now, weighed_then, chunks = list(row)[:4], list(row)[4:8], row[8], row[9]
    if not any(map(_moved, before, now)) or chunks < GROWN * max(weighed_then, 1):
        return False
    # Said first: what is written from now on is weighed by it already, and weighing it twice does no harm.
    connection.execute(_SET, generation.pk, *now, int(chunks))
    rewrite(connection, generation.user_id, generation.pk, Averages(*now))
    return True


def rewrite(connection: Connection, user_id: str, generation: int, averages: Averages | None = None) -> None:
    """The words of all chunks of a generation anew; without averages, those of its first chunks are taken."""
    after = 0
    while rows := connection.fetch(queries()["words_of_generation"], generation, after, AT_ONCE):
        terms = [stored_terms(row, row["title"]) for row in rows]
        averages = averages or _measured(connection, generation, terms)
        made = [(row["key"], weighed(each, averages)) for row, each in zip(rows, terms, strict=True)]
        put_words(connection, user_id, made)
        after = rows[-1]["key"]
    connection.execute(_LOG_AGAIN, user_id, generation)


def _measured(connection: Connection, generation: int, terms: Sequence[Terms]) -> Averages:
    """The averages of some chunks, which the generation is weighed by from now on."""
    averages = averages_of([lengths_of(each) for each in terms])
    connection.execute(_SET, generation, *astuple(averages), len(terms))
    return averages


def _moved(before: float | None, now: float | None) -> bool:
    return bool(before and now and abs(now / before - 1) > MOVED)
