"""/v1/jobs and /v1/reindex: background work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from footnotes.ingest.journal import own_runs
from footnotes.server import examples
from footnotes.server import replies as r
from footnotes.server.gate import request_id_of
from footnotes.server.jobs import Jobs, ServerJob
from footnotes.server.keys import Caller
from footnotes.server.models import PasswordBody, ReindexBody
from footnotes.server.openapi import errors, events
from footnotes.server.state import Reader, ReadLibrary, ServerState, State, WriteLibrary, Writer
from footnotes.server.streams import CHECK_SECONDS, event_line, open_event_stream
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=StrictRoute)
POLL_SECONDS = 0.2
_EVENTS: dict[str, Any] = {
    "responses": events(examples.JOB_EVENT) | errors(404),
    "response_description": "Events named `job`",
}


@router.get("/jobs", summary="List jobs", responses=errors())
def jobs(
    state: State,
    caller: Reader,
    library: ReadLibrary,
    status: Annotated[Literal["queued", "running", "ready", "failed"] | None, Query(alias="state")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Jobs:
    """Newest first."""
    found = state.jobs.all(caller.tenant, state=status, limit=limit + 1, offset=offset)
    runs = [] if offset else own_runs(library.jobs(files=False))[::-1][:limit]
    return r.Jobs(found[:limit], offset + limit if len(found) > limit else None, runs)


@router.get("/jobs/events", response_class=StreamingResponse, summary="Progress of all jobs", **_EVENTS)
def all_events(request: Request, state: State, caller: Reader) -> StreamingResponse:
    """Sends every unfinished job, then each change of any job, as long as the stream is open."""
    return open_event_stream(
        state.streams,
        caller,
        _changes(state, caller, None),
        request_id_of(request.scope),
        write=lambda job: event_line("job", job),
    )


@router.get("/jobs/{job_id}", summary="One job", responses=errors(404))
def job(job_id: str, state: State, caller: Reader) -> ServerJob:
    return state.jobs.find(caller.tenant, job_id)


@router.get("/jobs/{job_id}/events", response_class=StreamingResponse, summary="Progress of a job", **_EVENTS)
def job_events(job_id: str, request: Request, state: State, caller: Reader) -> StreamingResponse:
    """Sends each change of one job; ends when it is done."""
    state.jobs.find(caller.tenant, job_id)
    return open_event_stream(
        state.streams,
        caller,
        _changes(state, caller, job_id),
        request_id_of(request.scope),
        write=lambda job: event_line("job", job),
    )


async def _changes(state: ServerState, caller: Caller, job_id: str | None) -> AsyncIterator[ServerJob | None]:
    """Yield jobs as they change; None from time to time while none does, to keep the stream alive."""
    jobs, tenant = state.jobs, caller.tenant
    with state.streams.count(caller):
        _, point = jobs.changes_since(tenant, 2**62)
        first = await state.pools.short.run(_first_jobs, jobs, tenant, job_id)
        for found in first:
            yield found
        if job_id and first[0].state in ("ready", "failed"):
            return
        checked = time.monotonic()
        while True:
            changed, point = jobs.changes_since(tenant, point)
            for found in changed:
                if job_id in (None, found.id):
                    yield found
                    if job_id and found.state in ("ready", "failed"):
                        return
            if time.monotonic() - checked > CHECK_SECONDS:
                checked = time.monotonic()
                await state.pools.short.run(state.streams.check_key, caller)
                yield None
            await asyncio.sleep(POLL_SECONDS)


def _first_jobs(jobs: Jobs, tenant: str, job_id: str | None) -> list[ServerJob]:
    return [jobs.find(tenant, job_id)] if job_id else _list_unfinished(jobs, tenant)


def _list_unfinished(jobs: Jobs, tenant: str) -> list[ServerJob]:
    return [found for name in ("running", "queued") for found in reversed(jobs.all(tenant, state=name, limit=1_000))]


@router.post("/jobs/{job_id}/retry", status_code=202, summary="Retry a failed job", responses=errors(404))
def retry(job_id: str, state: State, caller: Writer) -> ServerJob:
    return state.intake.retry(caller.tenant, job_id)


@router.post(
    "/jobs/{job_id}/unlock", status_code=202, summary="Send the password of a PDF", responses=errors(404, body=True)
)
def unlock(job_id: str, body: PasswordBody, state: State, caller: Writer) -> ServerJob:
    """Ingests a copy without the password, as a new job; the password is not stored."""
    return state.intake.unlock(caller.tenant, job_id, body.password)


@router.delete("/jobs/{job_id}", summary="Remove a job from the list", responses=errors(404))
def dismiss(job_id: str, state: State, caller: Writer) -> ServerJob:
    """A running job is cancelled in PostgreSQL, and finishes in a folder. Documents are kept."""
    return state.intake.dismiss(caller.tenant, job_id)


@router.post("/reindex", status_code=202, summary="Reindex documents", responses=errors(body=True))
def reindex(body: ReindexBody, state: State, caller: Writer, library: WriteLibrary) -> ServerJob:
    """Builds the next generation beside the current one, then switches to it."""
    return state.intake.accept_reindex(caller.tenant, body.model_dump())
