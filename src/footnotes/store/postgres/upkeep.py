"""How large a library is, and how nothing of what was removed stays behind."""

from __future__ import annotations

from contextlib import suppress

from footnotes.errors import StoreError
from footnotes.store.postgres.database import Connection

TABLES = (
    "users",
    "collections",
    "generations",
    "documents",
    "derived",
    "sources",
    "facets",
    "versions",
    "texts",
    "parts",
    "document_chunks",
    "statistics",
    "sketches",
    "sketch_bands",
    "origins",
    "originals",
    "jobs",
    "index_changes",
    "shelves",
)

_SIZE = """
SELECT (SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest($2::text[]) name)
       * LEAST(1.0, (SELECT COALESCE(sum(chunks), 0) FROM documents WHERE user_id = $1)
               / GREATEST(1.0, (SELECT reltuples FROM pg_class WHERE oid = 'document_chunks'::regclass)))
"""


def size(connection: Connection, user_id: str) -> int:
    """The tenant's share of all tables, by its chunks; of a table nobody has counted yet, all of it."""
    return int(connection.value(_SIZE, user_id, list(TABLES)) or 0)


def vacuum(connection: Connection) -> None:
    """Write all tables and their indexes anew. Each is locked while that is done."""
    for table in TABLES:
        connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
    with suppress(StoreError):  # what the planner noted of removed values: only the database's owner may
        connection.execute("VACUUM (FULL) pg_statistic")
