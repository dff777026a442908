"""Brings the schema up to date: numbered, each migration one transaction, one server at a time."""

from __future__ import annotations

import hashlib

from footnotes.errors import SchemaTooNew, StoreError, StoreUnavailable
from footnotes.store.postgres import rewords
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.online import in_turns
from footnotes.store.postgres.sql import functions, migrations
from footnotes.store.postgres.upkeep import TABLES

_LOCK = 4607_0001
_TABLE = """
CREATE TABLE IF NOT EXISTS footnotes_schema (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())
"""
ROLES = ("footnotes_tenant", "footnotes_service", "footnotes_reader")
_LOST_TABLES = "SELECT name FROM unnest($1::text[]) name WHERE to_regclass(name) IS NULL ORDER BY name"
_LOST = """
SELECT 'role ' || name FROM unnest($2::text[]) name WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name)
UNION ALL
SELECT 'policy ' || policy || ' on ' || name
    FROM unnest($1::text[]) name, unnest(ARRAY['one_tenant', 'one_tenant_read']) policy
    WHERE NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = to_regclass(name) AND polname = policy)
UNION ALL
SELECT 'row security of ' || name FROM unnest($1::text[]) name
    WHERE NOT (SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass(name))
UNION ALL
SELECT 'privileges of footnotes_tenant on ' || name FROM unnest($1::text[]) name
    WHERE EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'footnotes_tenant')
    AND NOT has_table_privilege('footnotes_tenant', to_regclass(name), 'SELECT, INSERT, UPDATE, DELETE')
UNION ALL
SELECT 'function search_chunks' WHERE to_regproc('search_chunks') IS NULL
"""


def migrate(database: Database, *, to: int | None = None) -> list[int]:
    """Apply what is missing, up to `to` where it is given. Returns the numbers of what was applied."""
    with database.owning() as connection:
        # Several servers may start at once. The lock goes with the connection.
        connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        applied = _migrate(connection, to)
        if to is None:
            _put_functions(connection, again=bool(lost(connection)))
            rewords.bring_up_to_date(connection)
        return applied


def lost(connection: Connection) -> list[str]:
    """What a database of this version should have and has not, by name: a dump is restored without its roles."""
    missing = [str(row[0]) for row in connection.fetch(_LOST_TABLES, list(TABLES))]
    if missing:
        raise StoreError(
            f"the database lacks tables that it should have: {', '.join(missing)}",
            remedy="They cannot be made again from nothing: restore the dump or backup they were in.",
        )
    return [str(row[0]) for row in connection.fetch(_LOST, list(TABLES), list(ROLES))]


def repair(database: Database) -> list[str]:
    """Make roles, grants, policies and functions again, whatever was lost. Returns what had been."""
    with database.owning() as connection:
        connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        if _version(connection) < newest():
            return []  # a migration makes them
        found = lost(connection)
        _put_functions(connection, again=True)
        return found


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
    _check_made(database)


def _check_made(database: Database) -> None:
    """Refuse words and functions that were made by another version."""
    with database.owning() as connection:
        if gone := lost(connection):
            raise StoreUnavailable(
                f"the database has lost what this version made in it: {', '.join(gone[:5])}",
                remedy="Run `footnotes migrate` as the owner of the database: it makes them again.",
            )
        if _outdated_functions(connection):
            raise StoreUnavailable(
                "the functions of this database are those of an older version", remedy="Run `footnotes migrate`."
            )
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


def _put_functions(connection: Connection, *, again: bool = False) -> None:
    """Put functions in place that are not there as they should be. Those of older servers are called as before."""
    for name, script in _outdated_functions(connection, again=again).items():
        version, digest = _described(script)
        noted = f"""
            INSERT INTO footnotes_functions (name, version, digest) VALUES ('{name}', {version:d}, '{digest}')
            ON CONFLICT (name) DO UPDATE SET version = excluded.version, digest = excluded.digest"""  # noqa: S608
        in_turns(connection, f"{script}\n;{noted}")


def _outdated_functions(connection: Connection, *, again: bool = False) -> dict[str, str]:
    """Those that are missing or older here, `again` also the same. What a newer version put there stays."""
    rows = connection.fetch("SELECT name, version, digest FROM footnotes_functions")
    known = {row["name"]: (row["version"], row["digest"]) for row in rows}
    here = {name: _described(script) for name, script in functions().items()}
    older = {name for name, made in here.items() if _is_older(known.get(name), made)}
    same = {name for name, made in here.items() if again and known.get(name) == made}
    wanted = older | same
    if wanted:
        wanted.add("privileges")  # who may call what was put in place
    return {name: script for name, script in functions().items() if name in wanted}


def _is_older(known: tuple[int, str] | None, here: tuple[int, str]) -> bool:
    return known is None or known[0] < here[0] or (known[0] == here[0] and known != here)


def _described(script: str) -> tuple[int, str]:
    """The version in a function's first line, `-- version 3`, and the digest of all of it."""
    first = script.partition("\n")[0]
    return int(first.removeprefix("-- version ")), hashlib.sha256(script.encode()).hexdigest()


def _as_transaction(number: int, script: str) -> str:
    """Sent as one message, PostgreSQL applies a script wholly or not at all."""
    return f"BEGIN;\n{script}\n;INSERT INTO footnotes_schema (version) VALUES ({number:d});\nCOMMIT;"  # noqa: S608


def _version(connection: Connection) -> int:
    if connection.value("SELECT to_regclass('footnotes_schema')") is None:
        return 0
    return int(connection.value("SELECT COALESCE(max(version), 0) FROM footnotes_schema"))
