"""The server's own database: keys, counters and jobs.

It is an SQLite file in a folder, or tables beside the documents in PostgreSQL (`server/postgres.py`). The queries are
in `sql/`: in `shared.sql` if both dialects can use them, else in a file for each dialect, under the same names.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Protocol

import apsw

from footnotes.errors import StoreCorrupt, StoreUnavailable
from footnotes.settings import Settings
from footnotes.store.database import Row
from footnotes.store.sqlite.connection import CHECKSUM_BYTES, checksum_vfs
from footnotes.store.statements import load_queries

SQL = "footnotes.server.sql"
FILE = "server.db"
MARKER = "server.keyed"
_BUSY_MS = 5_000


class ServerDatabase(Protocol):
    """Runs the named queries. A query takes those of the given values that its header names."""

    is_shared: bool
    """Whether other servers and workers use it too."""
    jobs_to_keep: int
    """About how many finished jobs are stored."""

    def all(self, query: str, **values: object) -> list[Row]: ...

    def change(self, query: str, **values: object) -> list[Row]:
        """Change rows; return the rows that the query returns."""
        ...

    def notify(self, job_id: str, *, waits: bool = False) -> None:
        """Notify other servers that a job changed, and workers if it is queued."""
        ...

    def mark_keyed(self) -> None:
        """Record outside the database that keys exist: a server that had keys must not serve without them."""
        ...

    def checkpoint(self) -> None:
        """Remove deleted rows from the write-ahead log."""
        ...

    def close(self) -> None: ...


def one(rows: list[Row]) -> Row | None:
    return rows[0] if rows else None


class FolderDatabase:
    """One connection to write and one to read, each used by one thread at a time: readers never wait for the disk.

    Other processes may have the file open too.
    """

    is_shared = False
    jobs_to_keep = 1_000

    def __init__(self, folder: Path) -> None:
        self._marker = folder / MARKER
        self._queries = load_queries(SQL, "shared", "sqlite")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_present(folder / FILE)
            self._writing, self._reading = (_LockedConnection(folder / FILE) for _ in range(2))
            _make_schema(self._writing.connection)
        except (apsw.Error, OSError) as error:
            raise StoreUnavailable(f"cannot open the server's database in {folder} ({error})") from error
        if self.all("any_key"):
            self.mark_keyed()

    def _check_present(self, path: Path) -> None:
        """Raise if the database is gone and keys were made: the server must not serve without them."""
        log = Path(f"{path}-wal")
        is_empty = not path.exists() or (path.stat().st_size == 0 and not (log.exists() and log.stat().st_size))
        if is_empty and self._marker.exists():
            raise StoreCorrupt(
                f"{path.name} is missing or empty, but this server has keys",
                remedy=f"Restore {path.name} from a backup. To serve without the old keys, remove {MARKER}.",
            )

    def all(self, query: str, **values: object) -> list[Row]:
        return self._run(self._reading, query, values)

    def change(self, query: str, **values: object) -> list[Row]:
        return self._run(self._writing, query, values)

    def _run(self, used: _LockedConnection, query: str, values: Mapping[str, object]) -> list[Row]:
        found = self._queries[query]
        bindings = {str(at): _bind(values[name]) for at, name in enumerate(found.parameters, 1)}
        with used.guard, _translate_errors():
            cursor = used.connection.execute(found.sql, bindings)
            rows: list[Row] = []
            for row in cursor:
                names = [column[0] for column in cursor.get_description()]
                rows.append(dict(zip(names, row, strict=True)))
            return rows

    def notify(self, job_id: str, *, waits: bool = False) -> None:
        """No other process listens."""

    def mark_keyed(self) -> None:
        self._marker.touch(mode=0o600)

    def checkpoint(self) -> None:
        with self._writing.guard, _translate_errors():
            self._writing.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        for used in (self._reading, self._writing):
            with used.guard:
                used.connection.close()


def open_database(folder: Path, settings: Settings) -> ServerDatabase:
    """Open the server's database: a file in the folder, or tables in the PostgreSQL of the documents."""
    if not settings.store:
        return FolderDatabase(folder)
    from footnotes.server.postgres import PostgresDatabase

    return PostgresDatabase(settings.store, migrate=settings.migrate, read_only=settings.read_only)


def load_script(name: str) -> str:
    """Read a script of the folder `sql`."""
    return (resources.files(SQL) / f"{name}.sql").read_text("utf-8")


class _LockedConnection:
    """A connection with a lock."""

    def __init__(self, path: Path) -> None:
        self.guard = threading.Lock()
        if not path.exists():
            path.touch(mode=0o600)
        self.connection = apsw.Connection(str(path), vfs=checksum_vfs())
        self.connection.set_busy_timeout(_BUSY_MS)
        self.connection.reserve_bytes(reserve=CHECKSUM_BYTES)
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "full")
        self.connection.pragma("secure_delete", True)


def _make_schema(connection: apsw.Connection) -> None:
    """Create the tables, and the columns of jobs that databases of earlier versions lack."""
    connection.execute(load_script("schema_sqlite"))
    known = {name for (name,) in connection.execute(load_queries(SQL, "sqlite")["job_columns"].sql)}
    for column, script in (("bytes", "upgrade_sqlite_1"), ("source", "upgrade_sqlite_2")):
        if column not in known:
            with connection:
                connection.execute(load_script(script))


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise StoreUnavailable(f"the server's database failed ({error})") from error


def _bind(value: object) -> object:
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def save_server(settings: Settings, folder: Path) -> None:
    """Copy keys and quotas from PostgreSQL into a folder."""
    with closing(open_database(folder, settings)) as source, closing(_in_folder(settings, folder)) as target:
        _copy(source, target)


def load_server(settings: Settings, folder: Path) -> None:
    """Copy keys and quotas from a folder into PostgreSQL."""
    with closing(_in_folder(settings, folder)) as source, closing(open_database(folder, settings)) as target:
        _copy(source, target)


def _in_folder(settings: Settings, folder: Path) -> ServerDatabase:
    return open_database(folder, replace(settings, store=""))


def _copy(source: ServerDatabase, target: ServerDatabase) -> None:
    """Copy rows; existing ones stay. Jobs are not copied: their uploads are on the other side."""
    for rows, put in (("all_keys", "copy_key"), ("all_answers", "copy_answers")):
        for row in source.all(rows):
            target.change(put, **row)
