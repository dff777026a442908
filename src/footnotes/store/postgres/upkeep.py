"""Measures the size of a library, and purges removed data."""

from __future__ import annotations

from contextlib import suppress

from footnotes.errors import StoreError
from footnotes.store.database import Cursor
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
    "remembered",
    "conversations",
    "turns",
    "turn_documents",
)


def size(cursor: Cursor) -> int:
    """Return the tenant's share of all tables, by its chunks; the whole of a table without row counts."""
    return int(cursor.value("size", tables=list(TABLES)) or 0)


def vacuum(connection: Connection, *, rewrites: bool) -> None:
    """Free space without blocking others, or rewrite all tables and their indexes, which locks each meanwhile."""
    how = "FULL, ANALYZE" if rewrites else "ANALYZE"
    for table in TABLES:
        connection.execute(f"VACUUM ({how}) {table}")
    if not rewrites:
        return
    with suppress(StoreError):  # planner statistics with removed values: only the database's owner may
        connection.execute("VACUUM (FULL) pg_statistic")
