"""Migrates the schema: numbered migrations, each in one transaction, one server at a time."""

from __future__ import annotations

import hashlib
import time
from importlib import resources

from footnotes.errors import SchemaTooNew, StoreError, StoreLocked, StoreUnavailable
from footnotes.store import statements
from footnotes.store.postgres import rewords
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.upkeep import TABLES

ROLES = ("footnotes_tenant", "footnotes_service", "footnotes_reader")
LOCK_MS, TURNS, BETWEEN_SECONDS = 2_000, 30, 1.0
"""How long to wait for a lock, how often, and the pause for others in between."""


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations, oldest first."""
    return statements.migrations(__package__)


def functions() -> dict[str, str]:
    """Return the database's functions by name: one file each, replaced in the database whenever it has changed.

    The privileges come last, because they refer to the others.
    """
    folder = resources.files(__package__) / "functions"
    found = sorted(folder.iterdir(), key=lambda item: (item.name == "privileges.sql", item.name))
    return {item.name.partition(".")[0]: item.read_text("utf-8") for item in found}


def migrate(database: Database, *, to: int | None = None) -> list[int]:
    """Apply missing migrations, up to `to` if given. Return the applied numbers."""
    with database.owning() as connection:
        _cursor(connection).run("lock_schema")
        applied = _migrate(connection, to)
        if to is None:
            _put_functions(connection, again=bool(lost(connection)))
            rewords.bring_up_to_date(connection)
        return applied


def lost(connection: Connection) -> list[str]:
    """Return the names of missing objects: a restored dump, for example, has no roles."""
    missing = [row["name"] for row in _cursor(connection).all("lost_tables", tables=list(TABLES))]
    if missing:
        raise StoreError(
            f"the database lacks tables that it should have: {', '.join(missing)}",
            remedy="They cannot be made again from nothing: restore the dump or backup they were in.",
        )
    rows = _cursor(connection).all("lost", tables=list(TABLES), roles=list(ROLES))
    return [row["what"] for row in rows]


def repair(database: Database) -> list[str]:
    """Recreate lost roles, grants, policies and functions. Return what was lost."""
    with database.owning() as connection:
        _cursor(connection).run("lock_schema")
        if _version(connection) < newest():
            return []  # a migration creates them
        found = lost(connection)
        _put_functions(connection, again=True)
        return found


def version(database: Database) -> int:
    """Return the number of the newest applied migration; 0 if there is none."""
    with database.owning() as connection:
        return _version(connection)


def newest() -> int:
    return migrations()[-1][0]


def check(database: Database) -> None:
    """Raise on a schema from the future, and on one that needs a migration."""
    found = version(database)
    if found > newest():
        raise SchemaTooNew(f"the database has schema {found}; this version of Footnotes knows {newest()}")
    if found < newest():
        raise StoreUnavailable(
            f"the database has schema {found}; this version needs {newest()}", remedy="Run `footnotes migrate`."
        )
    _check_made(database)


def _check_made(database: Database) -> None:
    """Raise on terms and functions from another version."""
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
    _cursor(connection).run("make_schema_table")
    applied = []
    for number, script in migrations():
        if found < number <= (to or number):
            connection.execute(_as_transaction(number, script))
            applied.append(number)
    return applied


def _put_functions(connection: Connection, *, again: bool = False) -> None:
    """Create functions that are missing or outdated. Older servers can still call theirs."""
    for name, script in _outdated_functions(connection, again=again).items():
        version, digest = _describe(script)
        record = f"""
            INSERT INTO footnotes_functions (name, version, digest) VALUES ('{name}', {version:d}, '{digest}')
            ON CONFLICT (name) DO UPDATE SET version = excluded.version, digest = excluded.digest"""  # noqa: S608
        in_turns(connection, f"{script}\n;{record}")


def _outdated_functions(connection: Connection, *, again: bool = False) -> dict[str, str]:
    """Return functions that are missing or older, with `again` also equal ones. Newer ones stay."""
    rows = _cursor(connection).all("known_functions")
    known = {row["name"]: (row["version"], row["digest"]) for row in rows}
    here = {name: _describe(script) for name, script in functions().items()}
    older = {name for name, version in here.items() if _is_older(known.get(name), version)}
    same = {name for name, version in here.items() if again and known.get(name) == version}
    wanted = older | same
    if wanted:
        wanted.add("privileges")  # it grants the rights to call the new functions
    return {name: script for name, script in functions().items() if name in wanted}


def _is_older(known: tuple[int, str] | None, here: tuple[int, str]) -> bool:
    return known is None or known[0] < here[0] or (known[0] == here[0] and known != here)


def _describe(script: str) -> tuple[int, str]:
    """Return the version in a function's first line, `-- version 3`, and the digest of all of it."""
    first = script.partition("\n")[0]
    return int(first.removeprefix("-- version ")), hashlib.sha256(script.encode()).hexdigest()


def _as_transaction(number: int, script: str) -> str:
    """Wrap a script so that PostgreSQL applies it completely or not at all, sent as one message."""
    return f"BEGIN;\n{script}\n;INSERT INTO footnotes_schema (version) VALUES ({number:d});\nCOMMIT;"  # noqa: S608


def _version(connection: Connection) -> int:
    cursor = _cursor(connection)
    return int(cursor.value("schema_version")) if cursor.value("has_schema") else 0


def _cursor(connection: Connection) -> PostgresCursor:
    return PostgresCursor(connection, "")


# Changes tables while they are in use: no statement waits long for a lock, because others would queue behind it.


def in_turns(connection: Connection, script: str) -> None:
    """Run a script as one transaction; if a table is in use, release the locks and retry."""
    for turn in range(TURNS):
        try:
            connection.execute(f"BEGIN;\nSET LOCAL lock_timeout = {LOCK_MS:d};\n{script}\n;COMMIT;")
            return
        except StoreLocked:
            connection.execute("ROLLBACK")
            if turn == TURNS - 1:
                raise
            time.sleep(BETWEEN_SECONDS)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
