"""The server's own database beside the library: keys, counters and the jobs that were accepted."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import apsw

from footnotes.config import Settings
from footnotes.errors import StoreCorrupt, StoreUnavailable
from footnotes.store.sqlite.connection import CHECKSUM_BYTES, checksum_vfs

FILE = "server.db"
MARKER = "server.keyed"
SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
_BUSY_MS = 5_000


class ServerDatabase:
    """One connection to write and one to read, each used by one thread at a time: who reads never waits for the disk.

    Other processes may have the file open too.
    """

    def __init__(self, folder: Path) -> None:
        self._marker = folder / MARKER
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_present(folder / FILE)
            self._writing, self._reading = (_Guarded(folder / FILE) for _ in range(2))
            self._writing.connection.execute(SCHEMA)
            _add_columns(self._writing.connection)
        except (apsw.Error, OSError) as error:
            raise StoreUnavailable(f"the server's database in {folder} cannot be opened ({error})") from error
        if self.rows("SELECT 1 AS one FROM keys LIMIT 1"):
            self.mark_keyed()

    def _check_present(self, path: Path) -> None:
        """A server that had keys must not serve without them because its database is gone."""
        log = Path(f"{path}-wal")
        is_empty = not path.exists() or (path.stat().st_size == 0 and not (log.exists() and log.stat().st_size))
        if is_empty and self._marker.exists():
            raise StoreCorrupt(
                f"{path.name} is missing or empty, though keys were made for this server",
                remedy=f"Restore {path.name} from a backup. To serve without the keys there were, remove {MARKER}.",
            )

    def mark_keyed(self) -> None:
        """Leave word beside the database that keys were made."""
        self._marker.touch(mode=0o600)

    def checkpoint(self) -> None:
        """Leave no copy of what was deleted in the write-ahead log."""
        with self._writing.guard, _translated():
            self._writing.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run one statement; its rows by the names of their columns."""
        used = self._reading if sql.startswith("SELECT") else self._writing
        with used.guard, _translated():
            cursor = used.connection.execute(sql, tuple(values))
            found: list[dict[str, Any]] = []
            for row in cursor:
                names = [column[0] for column in cursor.get_description()]
                found.append(dict(zip(names, row, strict=True)))
            return found

    def close(self) -> None:
        for used in (self._reading, self._writing):
            with used.guard:
                used.connection.close()


def open_database(folder: Path, settings: Settings) -> ServerDatabase:
    """The server's database: a file in the folder, or beside the documents where these are in PostgreSQL."""
    if not settings.store:
        return ServerDatabase(folder)
    from footnotes.serve.shared.database import SharedDatabase

    return cast(ServerDatabase, SharedDatabase(settings.store, migrate=settings.migrate, read_only=settings.read_only))


class _Guarded:
    """A connection and who may use it now."""

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


def _add_columns(connection: apsw.Connection) -> None:
    """Columns that databases of earlier versions lack."""
    known = {row[1] for row in connection.execute("PRAGMA table_info(jobs)")}
    if "bytes" not in known:
        connection.execute("ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise StoreUnavailable(f"the server's database failed ({error})") from error


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
