"""The server's own tables in PostgreSQL, in a schema of their own beside the documents."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from footnotes.errors import StoreUnavailable
from footnotes.serve.database import SCHEMA
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.online import in_turns

NAME = "footnotes_server"
_LOCK = 4607_0002
_SHARED = (resources.files(__package__) / "schema.sql").read_text("utf-8")
_TYPES = (
    ("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    ("INTEGER", "bigint"),
    ("BLOB", "bytea"),
    (") STRICT", ")"),
)


class SharedDatabase:
    """As `ServerDatabase`, for any number of servers: the same statements, in PostgreSQL's spelling."""

    def __init__(self, address: str, *, migrate: bool = True, read_only: bool = False) -> None:
        self.pool = Database(address, role=None, path=NAME, most=8, read_only=read_only)
        try:
            with self.pool.owning() as connection:
                if not is_up_to_date(connection):
                    _check_may_migrate(migrate and not read_only)
                    make_schema(connection)
            self.pool.open()
        except BaseException:
            self.pool.close()
            raise

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run one statement; its rows by the names of their columns."""
        with self.pool.reading("") as connection:
            return [dict(row) for row in connection.fetch(spelled(sql), *values)]

    def mark_keyed(self) -> None:
        """Keys are in the database that holds the documents: without it there is nothing to serve."""

    def checkpoint(self) -> None:
        """What the log of a PostgreSQL keeps is its owner's business."""

    def close(self) -> None:
        self.pool.close()


@lru_cache(maxsize=256)
def spelled(sql: str) -> str:
    """A statement written for SQLite, as PostgreSQL reads it."""
    numbers = itertools.count(1)
    sql = re.sub(r"\bifnull\(", "coalesce(", sql)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql)


def script() -> str:
    """The server's own tables, in PostgreSQL's spelling."""
    text = SCHEMA
    for theirs, ours in _TYPES:
        text = text.replace(theirs, ours)
    return f"{text}\n{_SHARED}"


def is_up_to_date(connection: Connection) -> bool:
    """Whether this version's tables were made here: then nothing need be locked to start."""
    if connection.value("SELECT to_regclass($1)", f"{NAME}.applied") is None:
        return False
    return connection.value(f"SELECT 1 FROM {NAME}.applied WHERE digest = $1", _digest()) is not None  # noqa: S608


def make_schema(connection: Connection) -> None:
    """Make what is missing. A table that is in use is waited for in short turns, so that nobody waits behind it."""
    connection.execute("SELECT pg_advisory_lock($1)", _LOCK)  # several servers may start at once
    try:
        noted = f"INSERT INTO applied (digest) VALUES ('{_digest()}') ON CONFLICT DO NOTHING"  # noqa: S608
        made = f"CREATE SCHEMA IF NOT EXISTS {NAME}; SET LOCAL search_path TO {NAME};"
        in_turns(connection, f"{made}\n{script()};\n{noted}")
    finally:
        connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)


def _digest() -> str:
    return hashlib.sha256(script().encode()).hexdigest()


def _check_may_migrate(may: bool) -> None:
    if not may:
        raise StoreUnavailable(
            "the server's own tables are not those of this version", remedy="Run `footnotes migrate`."
        )
