"""/v1/jobs and /v1/reindex: what is being done behind the requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from footnotes.serve.gate import request_id_of
from footnotes.serve.jobs import Jobs
from footnotes.serve.models import ReindexBody
from footnotes.serve.state import Books, Reader, State, Writer
from footnotes.serve.streams import event_line, event_stream

router = APIRouter(prefix="/v1", tags=["jobs"])
POLL_SECONDS = 0.2
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events named `job`", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.get("/jobs", summary="List jobs")
def jobs(
    state: State,
    caller: Reader,
    status: Annotated[Literal["queued", "running", "ready", "failed"] | None, Query(alias="state")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> dict[str, Any]:
    """Newest first."""
    found = state.jobs.of(caller.tenant, state=status, limit=limit + 1, offset=offset)
    more = offset + limit if len(found) > limit else None
    return {"jobs": [job.shape() for job in found[:limit]], "next_offset": more}


@router.get("/jobs/events", response_class=StreamingResponse, responses=_EVENTS, summary="Progress of all jobs")
def all_events(request: Request, state: State, caller: Reader) -> StreamingResponse:
    """First every job that is not done, then each change of any job, as long as the stream is open."""
    return event_stream(
        state.streams,
        _changes(state.jobs, caller.tenant, None),
        caller,
        request_id_of(request.scope),
        write=lambda job: event_line("job", job) if job else "",
    )


@router.get("/jobs/{job_id}", summary="One job")
def job(job_id: str, state: State, caller: Reader) -> dict[str, Any]:
    return state.jobs.find(caller.tenant, job_id).shape()


@router.get("/jobs/{job_id}/events", response_class=StreamingResponse, responses=_EVENTS, summary="Progress of a job")
def job_events(job_id: str, request: Request, state: State, caller: Reader) -> StreamingResponse:
    """Each change of one job; ends when it is done."""
    state.jobs.find(caller.tenant, job_id)
    return event_stream(
        state.streams,
        _changes(state.jobs, caller.tenant, job_id),
        caller,
        request_id_of(request.scope),
        write=lambda job: event_line("job", job) if job else "",
    )


def _changes(jobs: Jobs, tenant: str, job_id: str | None) -> Iterator[dict[str, Any] | None]:
    """Shapes of jobs as they change; None now and then while nothing does, so that the stream can be checked."""
    _, point = jobs.changed(tenant, 2**62)
    first = [jobs.find(tenant, job_id)] if job_id else _unfinished(jobs, tenant)
    for found in first:
        yield found.shape()
    if job_id and first[0].state in ("ready", "failed"):
        return
    quiet = time.monotonic()
    while True:
        changed, point = jobs.changed(tenant, point)
        for found in changed:
            if job_id in (None, found.id):
                quiet = time.monotonic()
                yield found.shape()
                if job_id and found.state in ("ready", "failed"):
                    return
        if time.monotonic() - quiet > 1.0:
            quiet = time.monotonic()
            yield None
        time.sleep(POLL_SECONDS)


def _unfinished(jobs: Jobs, tenant: str) -> list[Any]:
    return [found for name in ("running", "queued") for found in reversed(jobs.of(tenant, state=name, limit=1_000))]


@router.post("/jobs/{job_id}/retry", status_code=202, summary="Try a failed job again")
def retry(job_id: str, state: State, caller: Writer) -> dict[str, Any]:
    return state.intake.retry(caller.tenant, job_id).shape()


@router.delete("/jobs/{job_id}", summary="Forget a job")
def dismiss(job_id: str, state: State, caller: Writer) -> dict[str, Any]:
    """A job that runs stays; what it made stays in any case."""
    return state.intake.dismiss(caller.tenant, job_id).shape()


@router.post("/reindex", status_code=202, summary="Cut and embed everything anew")
def reindex(body: ReindexBody, state: State, caller: Writer, library: Books) -> dict[str, Any]:
    """The next generation is built beside the one that serves, then switched to."""
    return state.intake.accept_reindex(caller.tenant, body.model_dump()).shape()
