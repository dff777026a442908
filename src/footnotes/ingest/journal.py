"""Keeps the journal of one run: its files, their progress and their results.

The journal is for people and for `resume`; the document itself has the true state. The journal may lag by
a moment: entries are written together, every few seconds and at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from types import TracebackType

from footnotes.errors import FootnotesError, StoreError, is_retryable
from footnotes.ingest.work import Progress
from footnotes.store import Store
from footnotes.store.records import JobUpdate, NewJob
from footnotes.tracing import JOB_ID
from footnotes.types import Added, DocumentStatus, Job, JobKind

WRITTEN_EVERY_SECONDS = 2.0
_STAGES: dict[str, DocumentStatus] = {
    "reading": "parsing",
    "parsing": "parsing",
    "embedding": "embedding",
    "indexing": "indexing",
    "graph": "indexing",
}


class Journal:
    """One run, as a context manager. Pass `progress` every report of progress and `settle` every result."""

    def __init__(
        self, store: Store, user_id: str, *, kind: JobKind, source: str, request: Mapping[str, object], run: int = 0
    ) -> None:
        self._store = store
        self._user_id = user_id
        self._holder = f"process {os.getpid()}"
        self._files: dict[str, int] = {}
        if run:
            self._run = run
            self._files = {job.source: job.number for job in store.jobs.all(user_id) if job.run == run}
            store.jobs.take(user_id, [run, *self._files.values()], self._holder)
        else:
            stored_request = {**request, "job": JOB_ID.get()} if JOB_ID.get() else request
            (self._run,) = store.jobs.make(user_id, None, [NewJob(kind, source, stored_request)], self._holder)
        self._updates: dict[int, JobUpdate] = {}
        self._last: Progress | None = None
        self._read: Progress | None = None
        self._written = time.monotonic()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An interrupted run must not hide the error that interrupted it.
        with suppress(StoreError) if kind else nullcontext():
            self.close(error, finished=kind is None)

    def expect(self, sources: Iterable[str]) -> None:
        """Record the files of the run."""
        fresh = [source for source in dict.fromkeys(sources) if source not in self._files]
        jobs = [NewJob("file", name, {}) for name in fresh]
        numbers = self._store.jobs.make(self._user_id, self._run, jobs, self._holder)
        self._files.update(zip(fresh, numbers, strict=True))

    def progress(self, progress: Progress) -> None:
        self._last = progress
        if progress.path and progress.stage in ("reading", "parsing"):
            self._read = progress
        if time.monotonic() - self._written >= WRITTEN_EVERY_SECONDS:
            self._write()

    def settle(self, added: Added) -> None:
        """Record the result of one file."""
        if added.status == "skipped":
            return
        if added.path not in self._files:
            self.expect([added.path])
        number = self._files[added.path]
        stage: DocumentStatus = "failed" if added.error else "ready"
        again = added.error is not None and is_retryable(added.error.code)
        self._updates[number] = JobUpdate(
            number, stage, error=added.error, retryable=again, document_id=added.document_id
        )

    def close(self, error: BaseException | None = None, *, finished: bool) -> None:
        """End the run. An interrupted run stays queued, for `resume`; one that cannot be done has failed."""
        if isinstance(error, FootnotesError):
            state = JobUpdate(self._run, "failed", error=error.info(), retryable=error.retryable)
        else:
            state = JobUpdate(self._run, "ready" if finished else "queued")
        self._write(state)

    def _write(self, state: JobUpdate | None = None) -> None:
        """Write the state of the run and of the current file, and the results so far. A given `state` ends the run."""
        now, last = [state] if state is not None else [], self._last
        if state is None and last is not None:
            now = [JobUpdate(self._run, _STAGES[last.stage], done=last.done, total=last.total)]
        if self._read is not None and (number := self._files.get(self._read.path)) and number not in self._updates:
            done = self._read.done if self._read.stage == "parsing" else 0
            now.append(JobUpdate(number, _STAGES[self._read.stage], done=done))
        updates, self._updates, self._read = [*now, *self._updates.values()], {}, None
        self._store.jobs.update(self._user_id, updates, release=state is not None)
        self._written = time.monotonic()


def own_runs(runs: Iterable[Job]) -> list[Job]:
    """Select the runs that a person began: those of a server's job belong to that job."""
    return [run for run in runs if not run.request.get("job")]


def unfinished_runs(jobs: Iterable[Job]) -> list[Job]:
    """Return interrupted runs, and runs with failures that a retry may fix."""
    everything = list(jobs)
    again = {job.run for job in everything if job.run and job.stage == "failed" and job.retryable}
    open_runs = (job for job in everything if job.run is None)
    return [
        job
        for job in open_runs
        if job.number in again or (job.retryable if job.stage == "failed" else job.stage != "ready")
    ]
