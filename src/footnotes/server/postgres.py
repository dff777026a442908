"""The server's own tables in PostgreSQL, in a separate schema beside the documents, for any number of servers."""

from __future__ import annotations

import contextlib
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from footnotes.errors import FootnotesError, StoreUnavailable
from footnotes.server.database import SQL, load_script
from footnotes.settings import Settings
from footnotes.store.database import Row
from footnotes.store.postgres import schema
from footnotes.store.postgres.cursor import PostgresCursor, Statements
from footnotes.store.postgres.database import Connection, Database, OwnedConnection, Pooled
from footnotes.store.postgres.schema import in_turns
from footnotes.store.statements import load_queries

NAME = "footnotes_server"
CHANGED, WAITING = "footnotes_jobs", "footnotes_waiting"
"""Channels: of jobs that changed, and of jobs that were queued."""
LOOK_SECONDS = 5.0
LEASE_ANSWER_SECONDS = 5.0


class PostgresDatabase:
    """A `ServerDatabase` that servers and workers of many machines share."""

    is_shared = True
    jobs_to_keep = 100_000

    def __init__(self, address: str, *, migrate: bool = True, read_only: bool = False) -> None:
        self._pool = Database(address, role=None, path=NAME, most=8, read_only=read_only)
        try:
            with self._pool.owning() as connection:
                if not _is_up_to_date(connection):
                    if not migrate or read_only:
                        raise StoreUnavailable(
                            "the server's tables do not match this version", remedy="Run `footnotes migrate`."
                        )
                    _make_schema(connection)
            self._pool.open()
        except BaseException:
            self._pool.close()
            raise

    def all(self, query: str, **values: object) -> list[Row]:
        return _cursor(Pooled(self._pool, "")).all(query, **values)

    def change(self, query: str, **values: object) -> list[Row]:
        return self.all(query, **values)

    @contextmanager
    def transaction(self) -> Iterator[PostgresCursor]:
        """Run several queries in one transaction."""
        with self._pool.transaction("") as connection:
            yield _cursor(connection)

    def lasting(self) -> OwnedConnection:
        """Open a connection that is the caller's own."""
        found: OwnedConnection = self._pool.lasting("")
        return found

    def notify(self, job_id: str, *, waits: bool = False) -> None:
        for channel in (CHANGED, WAITING) if waits else (CHANGED,):
            self.all("notify", channel=channel, text=job_id)

    def mark_keyed(self) -> None:
        """Keys are in the database of the documents: without it there is nothing to serve."""

    def checkpoint(self) -> None:
        """Do nothing: the log of a PostgreSQL belongs to its operator."""

    def close(self) -> None:
        self._pool.close()


def _cursor(statements: Statements) -> PostgresCursor:
    return PostgresCursor(statements, "", load_queries(SQL, "shared", "postgres"))


# ── the schema


def _is_up_to_date(connection: Connection) -> bool:
    """Return whether the tables of this version exist: then a start needs no lock."""
    cursor = _cursor(connection)
    return bool(cursor.value("has_applied")) and cursor.value("is_applied", digest=_digest()) is not None


def _make_schema(connection: Connection) -> None:
    """Create what is missing. Waits for tables in use in short turns, so other sessions do not queue up."""
    cursor = _cursor(connection)
    cursor.run("lock_server_schema")  # several servers may start at once
    try:
        in_turns(connection, load_script("schema_postgres"))
        cursor.run("note_applied", digest=_digest())
    finally:
        cursor.run("unlock_server_schema")


def _digest() -> str:
    scripts = load_script("schema_postgres") + load_script("privileges")
    return hashlib.sha256(scripts.encode()).hexdigest()


def migrate_server(settings: Settings) -> None:
    """Create the server's own tables and their privileges, where missing."""
    pool = Database(settings.store, role=None, path=NAME)
    try:
        with pool.owning() as connection:
            _make_schema(connection)
            connection.execute(load_script("privileges"))
    finally:
        pool.close()


class SchemaWatch:
    """Checks regularly that the tables are those of this version: they may be migrated, or lost."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._guard = threading.Lock()
        self._looked = -LOOK_SECONDS
        self._current = False

    def is_current(self) -> bool:
        with self._guard:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._current = self._check()
                self._looked = time.monotonic()
            return self._current

    def _check(self) -> bool:
        database = Database(self._address)
        try:
            schema.check(database)
        except FootnotesError:
            return False
        finally:
            database.close()
        return True


# ── leases and notifications


class Lease:
    """A worker's number, and a lock on it that lasts as long as the lease's own connection.

    Jobs carry the number of their holder; another worker may claim them when that lock is gone.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._connection: OwnedConnection | None = None
        self.number = 0

    @property
    def is_lost(self) -> bool:
        return self._connection is None or self._connection.is_lost

    def renew(self) -> bool:
        """Check the lock, and take one under a new number if it was lost; return whether it was.

        The number is new because other workers may have claimed the jobs of the old one.
        """
        if self._connection is not None and self._connection.answers(LEASE_ANSWER_SECONDS):
            return False
        self._connection = None
        connection = self._database.lasting()
        cursor = _cursor(connection)
        number = int(cursor.value("next_holder"))
        cursor.run("hold", number=number)
        self._connection, self.number = connection, number
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Listener:
    """Listens for jobs that changed on any machine, and calls back. Reconnects when the connection is lost."""

    def __init__(self, database: PostgresDatabase, on_change: Callable[[str], None], channel: str = CHANGED) -> None:
        self._database = database
        self._on_change = on_change
        self._channel = channel
        self._ids: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._connection: OwnedConnection | None = None
        self._thread = threading.Thread(target=self._listen, name="footnotes-listener", daemon=True)

    def start(self) -> None:
        self._connect()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._ids.put("")
        self._thread.join()
        if self._connection is not None:
            with contextlib.suppress(FootnotesError):
                self._connection.close()

    def _connect(self) -> None:
        self._connection = self._database.lasting()
        self._connection.listen(self._channel, self._ids.put)

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                self._next()
            except FootnotesError:
                self._stop.wait(1.0)

    def _next(self) -> None:
        try:
            job_id = self._ids.get(timeout=1.0)
        except queue.Empty:
            if self._connection is None or self._connection.is_lost:
                self._connect()
                for row in self._database.all("recent_jobs"):  # they may have changed in the meantime
                    self._on_change(row["id"])
            return
        if job_id:
            self._on_change(job_id)
