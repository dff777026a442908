"""/v1/jobs and /v1/reindex: what is being done behind the requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from footnotes.serve import examples
from footnotes.serve import replies as r
from footnotes.serve.gate import request_id_of
from footnotes.serve.jobs import Jobs, ServerJob
from footnotes.serve.keys import Caller
from footnotes.serve.models import ReindexBody
from footnotes.serve.openapi import errors, events
from footnotes.serve.state import Reader, ServerState, State, WritableBooks, Writer
from footnotes.serve.streams import CHECK_SECONDS, event_line, event_stream
from footnotes.serve.strict import StrictRoute

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
    status: Annotated[Literal["queued", "running", "ready", "failed"] | None, Query(alias="state")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Jobs:
    """Newest first."""
    found = state.jobs.of(caller.tenant, state=status, limit=limit + 1, offset=offset)
    return r.Jobs(found[:limit], offset + limit if len(found) > limit else None)


@router.get("/jobs/events", response_class=StreamingResponse, summary="Progress of all jobs", **_EVENTS)
def all_events(request: Request, state: State, caller: Reader) -> StreamingResponse:
    """First every job that is not done, then each change of any job, as long as the stream is open."""
    return event_stream(
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
    """Each change of one job; ends when it is done."""
    state.jobs.find(caller.tenant, job_id)
    return event_stream(
        state.streams,
        caller,
        _changes(state, caller, job_id),
        request_id_of(request.scope),
        write=lambda job: event_line("job", job),
    )


async def _changes(state: ServerState, caller: Caller, job_id: str | None) -> AsyncIterator[ServerJob | None]:
    """Jobs as they change; None now and then while nothing does, so that the stream is kept alive."""
    jobs, tenant = state.jobs, caller.tenant
    with state.streams.one(caller):
        _, point = jobs.changed(tenant, 2**62)
        first = await state.pools.short.run(_first, jobs, tenant, job_id)
        for found in first:
            yield found
        if job_id and first[0].state in ("ready", "failed"):
            return
        checked = time.monotonic()
        while True:
            changed, point = jobs.changed(tenant, point)
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


def _first(jobs: Jobs, tenant: str, job_id: str | None) -> list[ServerJob]:
    return [jobs.find(tenant, job_id)] if job_id else _unfinished(jobs, tenant)


def _unfinished(jobs: Jobs, tenant: str) -> list[ServerJob]:
    return [found for name in ("running", "queued") for found in reversed(jobs.of(tenant, state=name, limit=1_000))]


@router.post("/jobs/{job_id}/retry", status_code=202, summary="Try a failed job again", responses=errors(404))
def retry(job_id: str, state: State, caller: Writer) -> ServerJob:
    return state.intake.retry(caller.tenant, job_id)


@router.delete("/jobs/{job_id}", summary="Forget a job", responses=errors(404))
def dismiss(job_id: str, state: State, caller: Writer) -> ServerJob:
    """A job that runs stays; what it made stays in any case."""
    return state.intake.dismiss(caller.tenant, job_id)


@router.post("/reindex", status_code=202, summary="Cut and embed everything anew", responses=errors(body=True))
def reindex(body: ReindexBody, state: State, caller: Writer, library: WritableBooks) -> ServerJob:
    """The next generation is built beside the one that serves, then switched to."""
    return state.intake.accept_reindex(caller.tenant, body.model_dump())
