"""Connections to PostgreSQL: asyncpg in its own thread, used from all other threads.

Every connection works as a role that sees one tenant's rows: those of the tenant for whom it was taken from the pool.
Only `owning` sees all of them, for changes of the schema.
"""

from __future__ import annotations

import asyncio
import json
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
from pgvector.asyncpg import register_vector

from footnotes.errors import FootnotesError, StoreUnavailable
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.failures import translated

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

ROLE, READER = "footnotes_tenant", "footnotes_reader"
CONNECT_SECONDS = 10.0
_PREPARED = 500
Result = TypeVar("Result")
_SESSION = {
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Searches are short: compiling them, or starting processes for them, takes longer than they do. Keepalives detect a
machine that was switched off in half a minute, not in two hours; until then its writers seem to live."""


class Connection:
    """One connection for synchronous code. All statements of a `transaction` use the same one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: asyncpg.Connection) -> None:
        self._loop = loop
        self._connection = connection

    def fetch(self, statement: str, *bindings: object) -> list[object]:
        rows: list[object] = self._run("fetch", statement, *bindings)
        return rows

    def row(self, statement: str, *bindings: object) -> object:
        return self._run("fetchrow", statement, *bindings)

    def value(self, statement: str, *bindings: object) -> object:
        return self._run("fetchval", statement, *bindings)

    def execute(self, statement: str, *bindings: object) -> int:
        """Run a statement and return the number of affected rows; 0 if it affects none."""
        status: str = self._run("execute", statement, *bindings)
        last = status.rpartition(" ")[2]
        return int(last) if last.isdigit() else 0

    def send(self, statement: str, *bindings: object) -> Callable[[], object]:
        """Start a statement, and return a function that waits for its end. Call it before starting another."""
        with translated():
            future = asyncio.run_coroutine_threadsafe(self._connection.execute(statement, *bindings), self._loop)

        def wait() -> object:
            with translated():
                return future.result()

        return wait

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        if all_rows := list(rows):
            self._run("executemany", statement, all_rows)

    def copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write many rows with COPY."""
        self._run("copy_records_to_table", table, records=list(rows), columns=list(columns))

    def _run(self, method: str, *arguments: object, **options: object) -> Any:
        with translated():  # a lost connection raises even before there is anything to await
            return _await(getattr(self._connection, method)(*arguments, **options), self._loop)


def _await(
    work: Coroutine[object, object, Result], loop: asyncio.AbstractEventLoop, seconds: float | None = None
) -> Result:
    """Wait for the result of work in another thread. Cancel the work if the wait ends early."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(seconds)
    except BaseException:
        future.cancel()
        raise


class Database:
    """A pool of connections to one database."""

    def __init__(
        self,
        address: str,
        *,
        most: int = 16,
        role: str | None = ROLE,
        path: str = "",
        remote: bool = False,
        read_only: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._address = address
        self._role = READER if read_only and role is not None else role
        options = {**(options or {}), **({"search_path": path} if path else {})}
        known = {} if "application_name=" in address else {"application_name": "footnotes"}
        options |= {"default_transaction_read_only": "on"} if read_only else {}
        self._session = {**_SESSION, **known, **options, **({"footnotes.outside": "on"} if remote else {})}
        self._tenants: weakref.WeakKeyDictionary[object, str | None] = weakref.WeakKeyDictionary()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="footnotes-postgres", daemon=True)
        self._thread.start()
        self._most = most
        self._pinned = threading.local()
        self._pool: asyncpg.Pool | None = None

    def open(self) -> None:
        """Connect. The schema must exist: migrate first."""
        self._pool = self.run(self._make_pool())

    def close(self) -> None:
        if self._loop.is_closed():
            return
        if self._pool is not None:
            self.run(self._close_pool())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[object, object, Result], *, seconds: float | None = None) -> Result:
        """Run work in the connections' thread and wait for it."""
        with translated():
            return _await(work, self._loop, seconds)

    def fetch(self, user_id: str, statement: str, *bindings: object) -> list[object]:
        """Run one statement on any connection. One thread switch, where `reading` needs three."""
        if (pinned := self._pinned_for(user_id)) is not None:
            return pinned.fetch(statement, *bindings)
        return self.run(self._fetch(user_id, statement, bindings))

    async def _fetch(self, user_id: str, statement: str, bindings: Sequence[object]) -> list[object]:
        async with self.acquired(user_id) as connection:
            rows: list[object] = await connection.fetch(statement, *bindings)
            return rows

    @contextmanager
    def pinned(self, user_id: str) -> Iterator[None]:
        """Let all reads of a tenant by this thread see one state."""
        with self._begin(user_id, isolation="repeatable_read", readonly=True) as connection:
            self._pinned.user_id, self._pinned.connection = user_id, connection
            try:
                yield
            finally:
                self._pinned.user_id = self._pinned.connection = None

    def _pinned_for(self, user_id: str) -> Connection | None:
        pinned: Connection | None = getattr(self._pinned, "connection", None)
        return pinned if pinned is not None and self._pinned.user_id == user_id else None

    @contextmanager
    def read(self, user_id: str) -> Iterator[PostgresCursor]:
        """Open a cursor whose queries each see what is committed when they begin. Each takes its own connection."""
        yield PostgresCursor(Pooled(self, user_id), user_id)

    @contextmanager
    def snapshot(self, user_id: str) -> Iterator[PostgresCursor]:
        """Open a cursor whose queries all see one state."""
        with self.raw_snapshot(user_id) as connection:
            yield PostgresCursor(connection, user_id)

    def keep_state(self, user_id: str) -> AbstractContextManager[None]:
        """Do nothing: no connection is held while callers work on what they read."""
        return nullcontext()

    def checkpoint(self) -> None:
        """Do nothing: the log belongs to the server."""

    @contextmanager
    def write(self, user_id: str) -> Iterator[PostgresCursor]:
        """Open a transaction: all or nothing."""
        with self.transaction(user_id) as connection:
            yield PostgresCursor(connection, user_id)

    @contextmanager
    def reading(self, user_id: str) -> Iterator[Connection]:
        """Take a connection whose statements each see what is committed."""
        if (pinned := self._pinned_for(user_id)) is not None:
            yield pinned
            return
        with self._take(self._acquire(user_id)) as connection:
            yield connection

    @contextmanager
    def transaction(self, user_id: str) -> Iterator[Connection]:
        """Open a transaction: all or nothing."""
        with self._begin(user_id) as connection:
            yield connection

    @contextmanager
    def raw_snapshot(self, user_id: str) -> Iterator[Connection]:
        """Open a transaction whose reads all see one state."""
        if (pinned := self._pinned_for(user_id)) is not None:
            yield pinned
            return
        with self._begin(user_id, isolation="repeatable_read", readonly=True) as connection:
            yield connection

    @contextmanager
    def owning(self) -> Iterator[Connection]:
        """Open a connection outside the pool, as the owner of the schema."""
        connection = self.run(self._connect())
        try:
            yield Connection(self._loop, connection)
        finally:
            self.run(connection.close(timeout=CONNECT_SECONDS))

    def lasting(self, user_id: str) -> OwnedConnection:
        """Open a tenant's own connection, for locks that live as long as it; close it with `close`."""
        return OwnedConnection(self._loop, self.run(self._prepared(user_id)))

    @contextmanager
    def _begin(self, user_id: str, **options: Any) -> Iterator[Connection]:
        with self._take(self._acquire(user_id)) as connection:
            with translated():  # a lost connection raises even before there is anything to await
                transaction = connection._connection.transaction(**options)
                self.run(transaction.start())
            try:
                yield connection
            except BaseException:
                self.run(self._roll_back(connection._connection, transaction))
                raise
            with translated():
                self.run(transaction.commit())

    async def _roll_back(self, connection: object, transaction: asyncpg.transaction.Transaction) -> None:
        """Roll back, or else terminate the connection: it must never be reused with an open transaction."""
        try:
            await transaction.rollback()
        except Exception:
            await self._terminate(connection)

    @staticmethod
    async def _terminate(connection: PoolConnectionProxy) -> None:
        with suppress(asyncpg.InterfaceError):  # the pool noticed the loss first
            connection.terminate()

    @contextmanager
    def _take(self, work: Coroutine[object, object, PoolConnectionProxy]) -> Iterator[Connection]:
        connection = self.run(work)
        try:
            yield Connection(self._loop, connection)
        except BaseException as error:
            if not isinstance(error, FootnotesError) or isinstance(error, StoreUnavailable):
                self.run(self._terminate(connection))  # its state is unknown
            raise
        finally:
            assert self._pool is not None
            self.run(self._pool.release(connection))

    async def _acquire(self, user_id: str) -> object:
        if self._pool is None:
            raise StoreUnavailable("the store is not open")
        connection = await self._pool.acquire(timeout=CONNECT_SECONDS)
        real = connection._con
        try:
            if self._tenants.get(real) != user_id:
                self._tenants[real] = None
                await connection.execute("SELECT set_config('footnotes.user_id', $1, false)", user_id)
                self._tenants[real] = user_id
        except BaseException:
            await self._pool.release(connection)
            raise
        return connection

    @asynccontextmanager
    async def acquired(self, user_id: str) -> AsyncIterator[PoolConnectionProxy]:
        """Take a connection, for code in the connections' thread."""
        connection = await self._acquire(user_id)
        try:
            yield connection
        finally:
            assert self._pool is not None
            await self._pool.release(connection)

    async def _make_pool(self) -> asyncpg.Pool:
        return await asyncpg.create_pool(
            self._address,
            min_size=1,
            max_size=self._most,
            init=self._prepare,
            reset=_leave_as_it_is,
            timeout=CONNECT_SECONDS,
            statement_cache_size=_PREPARED,
            server_settings=self._session,
        )

    async def _close_pool(self) -> None:
        assert self._pool is not None
        try:
            await asyncio.wait_for(self._pool.close(), CONNECT_SECONDS)
        except TimeoutError:
            self._pool.terminate()

    async def _connect(self) -> asyncpg.Connection:
        return await asyncpg.connect(self._address, timeout=CONNECT_SECONDS, server_settings=self._session)

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        """Set up a new connection: vectors, JSON, and the role, which sees no rows until a tenant is set."""
        if self._role is not None:
            await register_vector(connection)
            await connection.execute(f"SET ROLE {self._role}")
        for name in ("json", "jsonb"):
            await connection.set_type_codec(name, encoder=_dumps, decoder=json.loads, schema="pg_catalog")

    async def _prepared(self, user_id: str) -> object:
        connection = await self._connect()
        await self._prepare(connection)
        await connection.execute("SELECT set_config('footnotes.user_id', $1, false)", user_id)
        return connection


class Pooled:
    """Runs each statement on any connection of the pool. One thread switch, where taking a connection needs three."""

    def __init__(self, database: Database, user_id: str) -> None:
        self._database = database
        self._user_id = user_id

    def fetch(self, statement: str, *bindings: object) -> list[object]:
        return self._database.fetch(self._user_id, statement, *bindings)

    def execute(self, statement: str, *bindings: object) -> int:
        with self._database.transaction(self._user_id) as connection:
            return connection.execute(statement, *bindings)

    def send(self, statement: str, *bindings: object) -> Callable[[], object]:
        """Run a statement in its own transaction; the returned function need not wait."""
        count = self.execute(statement, *bindings)
        return lambda: count


class OwnedConnection(Connection):
    """A connection for a single owner."""

    @property
    def is_lost(self) -> bool:
        return bool(self._connection.is_closed())

    def listen(self, channel: str, on_message: Callable[[str], object]) -> None:
        """Call a function with every notification on a channel, in the connections' thread: it must not block."""

        def notify(connection: object, pid: int, name: str, payload: str) -> None:
            on_message(payload)

        self._run("add_listener", channel, notify)

    def answers(self, seconds: float) -> bool:
        """Return whether the server still answers. If not, terminate the connection, which frees its locks."""
        if self.is_lost:
            return False
        try:
            self._run("fetchval", "SELECT 1", timeout=seconds)
        except FootnotesError:
            self._loop.call_soon_threadsafe(self._connection.terminate)
            return False
        return True

    def close(self) -> None:
        if not self._connection.is_closed():
            self._run("close", timeout=CONNECT_SECONDS)


async def _leave_as_it_is(connection: object) -> None:
    """Return a connection to the pool with its tenant set: the next search is usually for the same tenant."""


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
