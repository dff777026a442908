"""Brings the schema up to date: numbered, each migration one transaction, one server at a time."""

from __future__ import annotations

from footnotes.errors import SchemaTooNew, StoreUnavailable
from footnotes.store.postgres import rewords
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.sql import migrations

_LOCK = 4607_0001
_TABLE = """
CREATE TABLE IF NOT EXISTS footnotes_schema (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())
"""


def migrate(database: Database, *, to: int | None = None) -> list[int]:
    """Apply what is missing, up to `to` where it is given. Returns the numbers of what was applied."""
    with database.owning() as connection:
        # Several servers may start at once. The lock goes with the connection.
        connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        applied = _migrate(connection, to)
        if to is None:
            rewords.bring_up_to_date(connection)
        return applied


def version(database: Database) -> int:
    """The newest migration the database has; 0 where there is none."""
    with database.owning() as connection:
        return _version(connection)


def newest() -> int:
    return migrations()[-1][0]


def check(database: Database) -> None:
    """Refuse a schema from the future, and one that somebody has to bring up to date."""
    found = version(database)
    if found > newest():
        raise SchemaTooNew(f"the database has schema {found}; this version of Footnotes knows {newest()}")
    if found < newest():
        raise StoreUnavailable(
            f"the database has schema {found}; this version needs {newest()}", remedy="Run `footnotes migrate`."
        )
    _check_words(database)


def _check_words(database: Database) -> None:
    with database.owning() as connection:
        if rewords.outdated(connection):
            raise StoreUnavailable(
                "the words of this database were made by an older version", remedy="Run `footnotes migrate`."
            )


def _migrate(connection: Connection, to: int | None) -> list[int]:
    found = _version(connection)
    if found > newest():
        raise SchemaTooNew(f"the database has schema {found}; this version of Footnotes knows {newest()}")
    connection.execute(_TABLE)
    applied = []
    for number, script in migrations():
        if found < number <= (to or number):
            connection.execute(_as_transaction(number, script))
            applied.append(number)
    return applied


def _as_transaction(number: int, script: str) -> str:
    """Sent as one message, PostgreSQL applies a script wholly or not at all."""
    return f"BEGIN;\n{script}\n;INSERT INTO footnotes_schema (version) VALUES ({number:d});\nCOMMIT;"  # noqa: S608


def _version(connection: Connection) -> int:
    if connection.value("SELECT to_regclass('footnotes_schema')") is None:
        return 0
    return int(connection.value("SELECT COALESCE(max(version), 0) FROM footnotes_schema"))
