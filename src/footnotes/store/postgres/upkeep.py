"""How large a library is, and how nothing of what was removed stays behind."""

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
    """The tenant's share of all tables, by its chunks; of a table nobody has counted yet, all of it."""
    return int(cursor.value("size", tables=list(TABLES)) or 0)


def vacuum(connection: Connection, *, rewrites: bool) -> None:
    """Give space back beside everybody's work, or write all tables and their indexes again, each locked meanwhile."""
    how = "FULL, ANALYZE" if rewrites else "ANALYZE"
    for table in TABLES:
        connection.execute(f"VACUUM ({how}) {table}")
    if not rewrites:
        return
    with suppress(StoreError):  # what the planner noted of removed values: only the database's owner may
        connection.execute("VACUUM (FULL) pg_statistic")
