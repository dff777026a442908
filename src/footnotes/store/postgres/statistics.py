"""How many chunks have a term: what BM25 needs to know, kept beside the chunks and changed with them."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.sql import queries

FOLDED_FROM = 50_000
"""Rows of one generation beyond which they are added up; until then a search adds them itself."""

_COUNT = """
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2, t.lexeme, $4 * count(*) FILTER (WHERE 'D' = ANY (t.weights)),
       $4 * count(*) FILTER (WHERE 'A' = ANY (t.weights)), $4 * count(*) FILTER (WHERE 'B' = ANY (t.weights)),
       $4 * count(*) FILTER (WHERE 'C' = ANY (t.weights))
FROM document_chunks c, unnest(c.content_tsv) t
WHERE c.version = ANY ($3) AND c.generation = $2 AND t.weights IS NOT NULL GROUP BY t.lexeme
UNION ALL
SELECT $1, $2, unnest(ARRAY[' chunks', ' length']),
       unnest(ARRAY[$4 * count(*), $4 * COALESCE(sum(c.body_length), 0)]),
       unnest(ARRAY[$4 * count(*), $4 * COALESCE(sum(c.title_length), 0)]),
       unnest(ARRAY[$4 * count(*), $4 * COALESCE(sum(c.section_length), 0)]),
       unnest(ARRAY[$4 * count(*), $4 * COALESCE(sum(c.symbols_length), 0)])
FROM document_chunks c WHERE c.version = ANY ($3) AND c.generation = $2
"""

_FOLD = """
WITH gone AS (DELETE FROM statistics WHERE generation = $2 AND user_id = $1
              RETURNING term, body, title, section, symbols)
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2, term, sum(body), sum(title), sum(section), sum(symbols) FROM gone GROUP BY term
HAVING sum(body) <> 0 OR sum(title) <> 0 OR sum(section) <> 0 OR sum(symbols) <> 0
"""


def count(connection: Connection, user_id: str, generation: int, versions: Sequence[int], sign: int) -> None:
    """Add the chunks of versions in a generation to what is known of its terms, or take them away again."""
    connection.execute(_COUNT, user_id, generation, list(versions), sign)


def fold(connection: Connection, user_id: str, generation: int) -> None:
    """One row a term. Rows that come meanwhile stay beside."""
    connection.execute(_FOLD, user_id, generation)


def drop(connection: Connection, user_id: str, generation: int) -> None:
    connection.execute("DELETE FROM statistics WHERE user_id = $1 AND generation = $2", user_id, generation)


def recount(connection: Connection, user_id: str, generation: int) -> None:
    """All of a generation's statistics anew, from its chunks."""
    drop(connection, user_id, generation)
    for row in connection.fetch(queries()["served_versions"], user_id, generation):
        count(connection, user_id, generation, [row[0]], 1)
    fold(connection, user_id, generation)


def is_scattered(connection: Connection, user_id: str, generation: int) -> bool:
    """Whether there are so many rows beside the folded ones that searches feel them."""
    found = connection.row(
        "SELECT count(*), count(DISTINCT term) FROM statistics WHERE user_id = $1 AND generation = $2",
        user_id,
        generation,
    )
    return bool(found[0] - found[1] > min(FOLDED_FROM, max(1_000, found[1])))
