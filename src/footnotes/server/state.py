"""The parts of a running server, built once and given to every route."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from footnotes import tracing
from footnotes.errors import Forbidden, StoreLocked, StoreUnavailable, Unauthorized
from footnotes.library import Library
from footnotes.server.connections import Connections
from footnotes.server.database import ServerDatabase, open_database
from footnotes.server.following import FollowedSources
from footnotes.server.intake import Intake, Work
from footnotes.server.jobs import Jobs
from footnotes.server.keys import Caller, Keys
from footnotes.server.lane import FolderWork
from footnotes.server.metrics import Metrics
from footnotes.server.questions import ModelQuestions
from footnotes.server.quota import Answers, Buckets
from footnotes.server.running_answers import RunningAnswers
from footnotes.server.schedule import Schedule
from footnotes.server.searches import Searches
from footnotes.server.spool import Spool
from footnotes.server.streams import Streams
from footnotes.server.tenants import Tenants
from footnotes.server.threads import Pools
from footnotes.server.worker import search_settings
from footnotes.settings import Settings
from footnotes.store.address import named

EVERYTHING = frozenset(("read", "write", "admin"))


@dataclass(frozen=True, slots=True)
class ServerState:
    """The parts of a server."""

    settings: Settings
    database: ServerDatabase
    tenants: Tenants
    searches: Searches
    keys: Keys
    answers: Answers
    buckets: Buckets
    jobs: Jobs
    intake: Intake
    pools: Pools
    streams: Streams
    running_answers: RunningAnswers
    connections: Connections
    sources: FollowedSources
    schedule: Schedule
    metrics: Metrics
    questions: ModelQuestions
    needs_keys: bool
    lock: int | None

    async def admit(self, key: str | None, address: str) -> Caller:
        """Return the caller of a key, looked up off the event loop. Wrong keys count against their address."""
        if (known := self.keys.cached_caller(key or "")) is not None:
            return known
        await self._run_bucket(self.buckets.check, f"address {address}")
        try:
            return await self.pools.keys.run(self.caller, key)
        except Unauthorized:
            await self._run_bucket(self.buckets.take, f"address {address}")
            raise

    async def count(self, caller: Caller) -> None:
        """Count a request of a key against its rate."""
        if caller.key_id:
            await self._run_bucket(self.buckets.take, caller.key_id)

    async def _run_bucket(self, call: Callable[[str], None], name: str) -> None:
        """Run a bucket's method: off the event loop if the buckets are in a database."""
        if self.buckets.is_local:
            call(name)
        else:
            await self.pools.keys.run(call, name)

    def caller(self, key: str | None) -> Caller:
        """Return the caller of a key. Without keys every caller is the local tenant."""
        if not self.needs_keys and not self.keys.exist():
            return Caller(self.settings.user, "", EVERYTHING)
        return self.keys.caller(key or "")

    def close(self) -> None:
        self.schedule.stop()
        self.intake.stop()
        self.pools.close()
        self.searches.close()
        self.tenants.close()
        self.database.close()
        if self.lock is not None:
            os.close(self.lock)
        tracing.flush()


def build_state(folder: Path, settings: Settings, *, needs_keys: bool) -> ServerState:
    """Open the parts of a server. One server serves a folder at a time; any number serve a PostgreSQL."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.store:
        name = f"footnotes server {socket.gethostname()}:{os.getpid()}"
        settings = replace(settings, store=named(settings.store, name))
    database = open_database(folder, settings)
    try:
        lock = None if settings.store else _lock_folder(folder)
    except BaseException:
        database.close()
        raise
    metrics, keys, pools = Metrics(), Keys(database), Pools(settings)
    tenants = Tenants(folder, search_settings(settings), metrics.count_embedding)
    jobs = Jobs(database, settings.serve_queue)
    spool, streams = Spool(folder, settings, database), Streams(settings.serve_streams, keys, pools.slow)
    intake = Intake(tenants, jobs, _work(jobs, tenants, metrics, settings, spool, database), spool, settings)
    sources = FollowedSources(database, folder, settings)
    # On a read-only database, each server counts requests for itself.
    counting = database if database.is_shared and not settings.read_only else None
    return ServerState(
        settings=settings,
        database=database,
        tenants=tenants,
        searches=Searches(folder, tenants.settings, metrics.count_embedding),
        keys=keys,
        answers=Answers(database, settings.serve_answers, settings.serve_key_budget),
        buckets=Buckets(settings.serve_rate, settings.serve_burst, database=counting),
        jobs=jobs,
        intake=intake,
        pools=pools,
        streams=streams,
        running_answers=RunningAnswers(streams, pools),
        connections=Connections(database, folder, settings),
        sources=sources,
        schedule=Schedule(sources, intake),
        metrics=metrics,
        questions=ModelQuestions(),
        needs_keys=needs_keys,
        lock=lock,
    )


def _work(
    jobs: Jobs, tenants: Tenants, metrics: Metrics, settings: Settings, spool: Spool, database: ServerDatabase
) -> Work:
    if not settings.store:
        return FolderWork(jobs, tenants, metrics, settings, spool)
    from footnotes.server.postgres import PostgresDatabase
    from footnotes.server.shared_work import SharedWork

    assert isinstance(database, PostgresDatabase)
    return SharedWork(jobs, tenants.folder, settings, spool, database)


def _lock_folder(folder: Path) -> int:
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
    """The caller, as the gate determined it."""
    caller: Caller = connection.scope["footnotes.caller"]
    return caller


def _require_scope(scope: str) -> type:
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
Reader = Annotated[Caller, _require_scope("read")]
Writer = Annotated[Caller, _require_scope("write")]
Admin = Annotated[Caller, _require_scope("admin")]


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


ReadLibrary = Annotated[Library, Depends(_readers_library)]
"""The library of the caller, who may read."""
WriteLibrary = Annotated[Library, Depends(_writers_library)]
"""The library of the caller, who may write. A key that adds and deletes need not be able to read."""
