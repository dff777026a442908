"""Weighs the words of a generation anew when its chunks have become longer or shorter on average.

The weight of a term in a chunk depends on how long the chunk is beside the others (the b of BM25). It is computed when
the chunk is written, by the average of then; when a library has doubled since and the average has moved, all weights
are computed again.
"""

from __future__ import annotations

import json
from typing import Any

from footnotes.store.lexemes import chunk_terms
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.words import Averages, weighed
from footnotes.store.records import Generation

GROWN, MOVED = 2.0, 0.1
_AT_ONCE = 500

_MEASURED = """
SELECT g.body_average, g.heading_average, g.weighed, s.chunks, s.body / NULLIF(s.chunks, 0),
       s.heading / NULLIF(s.chunks, 0)
FROM generations g, (
    SELECT COALESCE(sum(body) FILTER (WHERE term = ' chunks'), 0)::float8 AS chunks,
           COALESCE(sum(body) FILTER (WHERE term = ' length'), 0)::float8 AS body,
           COALESCE(sum(heading) FILTER (WHERE term = ' length'), 0)::float8 AS heading
    FROM statistics WHERE generation = $1 AND term IN (' chunks', ' length')) s
WHERE g.pk = $1
"""
_NEXT = """
SELECT c.key, c.content, c.headings::text AS headings, d.title, c.prefix, c.metadata ->> 'language' AS language
FROM document_chunks c JOIN documents d ON d.pk = c.document
WHERE c.generation IN ($1, -$1::bigint) AND c.key > $2 ORDER BY c.key LIMIT $3
"""
_SET = "UPDATE generations SET body_average = $2, heading_average = $3, weighed = $4 WHERE pk = $1"
_PUT = "UPDATE document_chunks SET words = $2::text::sparsevec WHERE key = $1"


def if_due(connection: Connection, generation: Generation) -> bool:
    """Weigh anew where it is due; the connection is the owner's. Says whether it was."""
    row = connection.row(_MEASURED, generation.pk)
    if row is None or not row[3]:
        return False
    body, heading, weighed_then, chunks, body_now, heading_now = row
    moved = _moved(body, body_now) or _moved(heading, heading_now)
    if not moved or chunks < GROWN * max(weighed_then, 1):
        return False
    # Said first: what is written from now on is weighed by it already, and weighing it twice does no harm.
    connection.execute(_SET, generation.pk, body_now, heading_now, int(chunks))
    _reweigh(connection, generation.pk, Averages(body_now, heading_now))
    return True


def _moved(before: float | None, now: float | None) -> bool:
    return bool(before and now and abs(now / before - 1) > MOVED)


def _reweigh(connection: Connection, generation: int, averages: Averages) -> None:
    after = 0
    while rows := connection.fetch(_NEXT, generation, after, _AT_ONCE):
        connection.many(_PUT, [(row["key"], _weights(row, averages)) for row in rows])
        after = rows[-1]["key"]


def _weights(row: Any, averages: Averages) -> str:
    body, heading = chunk_terms(
        row["content"],
        headings=json.loads(row["headings"]),
        title=row["title"],
        prefix=row["prefix"],
        language=row["language"],
    )
    weights: str = weighed(body, heading, averages).weights.to_text()
    return weights
