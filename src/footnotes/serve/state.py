"""What a running server holds, made once and handed to every route."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from footnotes import tracing
from footnotes.config import Settings
from footnotes.engine import Library
from footnotes.errors import Forbidden, StoreLocked, StoreUnavailable, Unauthorized
from footnotes.serve.connections import Connections
from footnotes.serve.conversing import Conversing
from footnotes.serve.database import ServerDatabase
from footnotes.serve.intake import Intake
from footnotes.serve.jobs import Jobs
from footnotes.serve.keys import Caller, Keys
from footnotes.serve.metrics import Metrics
from footnotes.serve.quota import Answers, Buckets
from footnotes.serve.streams import Streams
from footnotes.serve.tenants import Tenants
from footnotes.serve.threads import Pools
from footnotes.serve.worker import for_searches

EVERYTHING = frozenset(("read", "write", "admin"))


@dataclass(frozen=True, slots=True)
class ServerState:
    """The parts of a server."""

    settings: Settings
    database: ServerDatabase
    tenants: Tenants
    keys: Keys
    answers: Answers
    buckets: Buckets
    jobs: Jobs
    intake: Intake
    pools: Pools
    streams: Streams
    conversing: Conversing
    connections: Connections
    metrics: Metrics
    needs_keys: bool
    lock: int

    async def admit(self, key: str | None, address: str) -> Caller:
        """Who a key stands for, looked up beside the event loop. Wrong keys count against their address."""
        if (known := self.keys.known_caller(key or "")) is not None:
            return known
        await self._counted(self.buckets.check, f"address {address}")
        try:
            return await self.pools.keys.run(self.caller, key)
        except Unauthorized:
            await self._counted(self.buckets.take, f"address {address}")
            raise

    async def count(self, caller: Caller) -> None:
        """Count a request of a key against its rate."""
        if caller.key_id:
            await self._counted(self.buckets.take, caller.key_id)

    async def _counted(self, call: Callable[[str], None], name: str) -> None:
        """Beside the event loop where other servers count too."""
        if self.buckets.is_local:
            call(name)
        else:
            await self.pools.keys.run(call, name)

    def caller(self, key: str | None) -> Caller:
        """Who a key stands for; without keys whoever is on this machine is the one local tenant."""
        if not self.needs_keys and not self.keys.exist():
            return Caller(self.settings.user, "", EVERYTHING)
        return self.keys.caller(key or "")

    def close(self) -> None:
        self.intake.stop()
        self.pools.close()
        self.tenants.close()
        self.database.close()
        os.close(self.lock)
        tracing.flush()


def make_state(folder: Path, settings: Settings, *, needs_keys: bool) -> ServerState:
    """Open what a server needs. One server serves a folder at a time; any number serve a PostgreSQL."""
    if settings.store:
        from footnotes.serve.shared.state import make_shared_state

        return make_shared_state(folder, settings, needs_keys=needs_keys)
    database = ServerDatabase(folder)
    try:
        lock = _only_server(folder)
    except BaseException:
        database.close()
        raise
    metrics, keys, pools = Metrics(), Keys(database), Pools(settings)
    tenants, jobs = Tenants(folder, for_searches(settings), metrics.embedding), Jobs(database, settings.serve_queue)
    streams = Streams(settings.serve_streams, keys, pools.slow)
    return ServerState(
        settings=settings,
        database=database,
        tenants=tenants,
        keys=keys,
        answers=Answers(database, settings.serve_answers),
        buckets=Buckets(settings.serve_rate, settings.serve_burst),
        jobs=jobs,
        intake=Intake(tenants, jobs, metrics, settings),
        pools=pools,
        streams=streams,
        conversing=Conversing(streams, pools),
        connections=Connections(database, folder, settings),
        metrics=metrics,
        needs_keys=needs_keys,
        lock=lock,
    )


def _only_server(folder: Path) -> int:
    try:
        file = os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be written ({error.strerror})") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise StoreLocked(f"another server serves {folder}", remedy="Stop it, or use its address.") from None
    return file


# ── what routes ask for


def state_of(connection: HTTPConnection) -> ServerState:
    state: ServerState = connection.app.state.server
    return state


def caller_of(connection: HTTPConnection) -> Caller:
    """Who calls, as the gate found out before anything else was done."""
    caller: Caller = connection.scope["footnotes.caller"]
    return caller


def _needing(scope: str) -> type:
    async def check(request: Request) -> Caller:  # async, as all of these: no thread is needed for so little
        caller = caller_of(request)
        if not caller.may(scope):
            raise Forbidden(f"the key has no {scope} scope")
        if scope != "read" and request.method not in ("GET", "HEAD"):
            state_of(request).intake.check_may_change()
        return caller

    return Depends(check)  # type: ignore[no-any-return]


async def _state(request: Request) -> ServerState:
    return state_of(request)


State = Annotated[ServerState, Depends(_state)]
Reader = Annotated[Caller, _needing("read")]
Writer = Annotated[Caller, _needing("write")]
Admin = Annotated[Caller, _needing("admin")]


async def _readers_library(state: State, caller: Reader) -> AsyncIterator[Library]:
    async for library in _library(state, caller):
        yield library


async def _writers_library(state: State, caller: Writer) -> AsyncIterator[Library]:
    async for library in _library(state, caller):
        yield library


async def _library(state: ServerState, caller: Caller) -> AsyncIterator[Library]:
    tenants, tenant = state.tenants, caller.tenant
    library = tenants.borrow_open(tenant)
    if library is None:
        library = await state.pools.short.run(tenants.borrow, tenant)
    try:
        yield library
    finally:
        tenants.give_back(tenant)


Books = Annotated[Library, Depends(_readers_library)]
"""The library of whoever calls and may read."""
WritableBooks = Annotated[Library, Depends(_writers_library)]
"""The library of whoever calls and may write: a key to hand over and delete need not be one to read."""
