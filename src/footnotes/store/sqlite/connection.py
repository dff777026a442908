"""Opens the database, keeps one connection per thread, and translates the driver's errors once."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import apsw
import apsw.sqlite_extra

from footnotes.errors import (
    FootnotesError,
    InputError,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)
from footnotes.store.sqlite.cursor import SqliteCursor

APPLICATION_ID = 0x464E5445
_BUSY_MS = 10_000
CHECKSUM_BYTES = 8
_WRITER_CACHE, _READER_CACHE = 16_000, 24_000

_TRANSLATION: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (
    (apsw.FullError, StoreFull, "the disk is full"),
    (apsw.CorruptError, StoreCorrupt, "the database is damaged"),
    (apsw.NotADBError, StoreCorrupt, "the database file is not a database"),
    (apsw.BusyError, StoreLocked, "another process is writing to the database"),
    (apsw.CantOpenError, StoreUnavailable, "the database cannot be opened"),
    (apsw.ReadOnlyError, StoreUnavailable, "the database cannot be written"),
    (apsw.PermissionsError, StoreUnavailable, "the database may not be read"),
    (apsw.IOError, StoreUnavailable, "the database cannot be read or written"),
)
T = TypeVar("T")
_REMEMBERED = 4


@contextmanager
def translated() -> Iterator[None]:
    """Translate driver errors to errors of the tree."""
    try:
        yield
    except apsw.Error as error:
        raise _translation(error) from error
    except UnicodeEncodeError as error:
        raise InputError("a name or value holds characters that are not Unicode text") from error
    except OverflowError as error:
        raise InputError("a number is too large") from error


def _translation(error: apsw.Error) -> FootnotesError:
    extended = getattr(error, "extendedresult", 0)
    if extended in (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ):
        return StoreCorrupt(f"a page of the database does not match its checksum ({error})")
    for kind, target, sentence in _TRANSLATION:
        if isinstance(error, kind):
            return target(f"{sentence} ({error})")
    return StoreError(f"the database answered: {error}")


class Database:
    """Connections to one SQLite file: one for writing, and one per thread for reading."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        # Weak references: a thread's connection is freed with the thread, or a server would accumulate them.
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._guard = threading.Lock()
        self.write_lock = threading.RLock()
        self.read_only = path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        with translated():
            self._writer = self._connect(_WRITER_CACHE)
            self._check_owner()

    @property
    def writer(self) -> apsw.Connection:
        """The writing connection. Use it in a `transaction`, or for reading under `write_lock`."""
        return self._writer

    @property
    def reader(self) -> apsw.Connection:
        """This thread's own connection; sees what is committed."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with translated():
                connection = self._local.connection = self._connect(_READER_CACHE)
        return connection

    def remembered(self, name: str, read: Callable[[], T]) -> T:
        """Return a value that this thread cached by name, unless the database has changed since."""
        with translated():
            ((version,),) = self.reader.execute("PRAGMA data_version").fetchall()
        found: dict[str, Any]
        known, found = getattr(self._local, "remembered", (None, {}))
        if known != version or (len(found) >= _REMEMBERED and name not in found):
            found = {}
        self._local.remembered = (version, found)
        if name not in found:
            found[name] = read()
        value: T = found[name]
        return value

    @contextmanager
    def read(self, user_id: str) -> Iterator[SqliteCursor]:
        """Open a cursor whose queries each see what is committed when they begin."""
        with translated():
            yield SqliteCursor(self.reader, user_id)

    @contextmanager
    def snapshot(self, user_id: str) -> Iterator[SqliteCursor]:
        """Open a cursor whose queries all see one state."""
        with self.raw_snapshot() as connection:
            yield SqliteCursor(connection, user_id)

    @contextmanager
    def keep_state(self, user_id: str) -> Iterator[None]:
        """Let all reads of this thread see one state; readers never block writers."""
        with self.raw_snapshot():
            yield

    def checkpoint(self) -> None:
        """Purge removed data from the write-ahead log."""
        with self.write_lock, translated():
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> Iterator[str]:
        """Yield errors in pages, their checksums, and references between rows."""
        with translated():
            for (message,) in self.reader.execute("PRAGMA integrity_check(20)"):
                if message != "ok":
                    yield str(message)
            for row in self.reader.execute("PRAGMA foreign_key_check"):
                yield f"a row of {row[0]} refers to nothing"

    def vacuum(self) -> None:
        """Rewrite the file without free pages."""
        with self.write_lock, translated():
            self._writer.execute("VACUUM")

    @contextmanager
    def write(self, user_id: str) -> Iterator[SqliteCursor]:
        """Open a write transaction: all or nothing."""
        with self.transaction() as connection:
            yield SqliteCursor(connection, user_id)

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Open a write transaction: all or nothing."""
        if self.read_only:
            raise StoreUnavailable(f"{self._path.parent} may be read but not written")
        with self.write_lock, translated():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                _roll_back(self._writer)
                raise
            try:
                self._writer.execute("COMMIT")
            except apsw.Error:
                _roll_back(self._writer)
                raise

    @contextmanager
    def raw_snapshot(self) -> Iterator[apsw.Connection]:
        """Open a transaction whose reads all see one state."""
        connection = self.reader
        with translated():
            if not connection.in_transaction:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    _roll_back(connection)
            else:
                yield connection

    def close(self) -> None:
        with self._guard:
            for connection in list(self._open):
                connection.close()
            self._open.clear()

    def _connect(self, cache_kilobytes: int) -> apsw.Connection:
        if self.read_only:
            return self._remembered(self._connect_to_read(cache_kilobytes))
        # A library contains copies of files that may be private to their owner.
        if not self._path.exists():
            self._path.touch(mode=0o600)
        connection = apsw.Connection(str(self._path), vfs=checksum_vfs(), statementcachesize=200)
        connection.set_busy_timeout(_BUSY_MS)
        connection.reserve_bytes(reserve=CHECKSUM_BYTES)
        for statement in (
            "PRAGMA page_size = 8192",
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "PRAGMA foreign_keys = ON",
            "PRAGMA secure_delete = ON",
            "PRAGMA temp_store = MEMORY",
            f"PRAGMA cache_size = -{cache_kilobytes}",
        ):
            connection.execute(statement)
        return self._remembered(connection)

    def _connect_to_read(self, cache_kilobytes: int) -> apsw.Connection:
        """Connect to a library on a read-only disk. No one else can write there, so no lock is needed."""
        address = f"file:{quote(str(self._path))}?mode=ro"
        waiting = Path(str(self._path) + "-wal")
        if not waiting.exists() or waiting.stat().st_size == 0:
            address += "&immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(address, flags=flags, vfs=checksum_vfs(), statementcachesize=200)
        connection.execute(f"PRAGMA cache_size = -{cache_kilobytes}")
        return connection

    def _remembered(self, connection: apsw.Connection) -> apsw.Connection:
        with self._guard:
            self._open.add(connection)
        return connection

    def _check_owner(self) -> None:
        application = self._writer.pragma("application_id")
        if application not in (0, APPLICATION_ID):
            raise StoreCorrupt(f"{self._path.name} was written by another program")


def _roll_back(connection: apsw.Connection) -> None:
    """End a transaction, unless an error has already ended it."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


@cache
def checksum_vfs() -> str | None:
    """Load SQLite's page checksum layer and return its name; None if this build of apsw lacks it."""
    if apsw.sqlite_extra.has("cksumvfs") is None:
        return None
    # The extension becomes the default layer of later connections that name none, so all of ours name one.
    memory = apsw.Connection(":memory:")
    apsw.sqlite_extra.load(memory, "cksumvfs")
    return "cksmvfs"


def migrate(database: Database, migrations: list[tuple[int, str]]) -> None:
    """Migrate the schema: each migration is one transaction, and recorded in it."""
    newest = migrations[-1][0]
    found = schema_version(database.writer)
    if found > newest:
        raise SchemaTooNew(f"the library has schema {found}; this version of Footnotes knows {newest}")
    for number, script in migrations:
        if number <= found:
            continue
        with database.transaction() as connection:
            if schema_version(connection) >= number:
                continue
            connection.execute(script)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def schema_version(connection: apsw.Connection) -> int:
    version: Any = connection.pragma("user_version")
    return int(version)
