"""Keeps the journal of one run: which files, how far each is, what became of it.

The journal is for people and for `resume`; the truth about a document stands with the document. So it may lag by a
moment: entries are written together, every few seconds and at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import Any

from footnotes.errors import FootnotesError, StoreError, is_retryable
from footnotes.ingest.work import Progress
from footnotes.store import Store
from footnotes.store.records import JobUpdate, NewJob
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
    """One run, as a context. Give `progress` every report of progress and `settle` every result."""

    def __init__(
        self, store: Store, user_id: str, *, kind: JobKind, source: str, request: Mapping[str, Any], run: int = 0
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
            (self._run,) = store.jobs.make(user_id, None, [NewJob(kind, source, request)], self._holder)
        self._updates: dict[int, JobUpdate] = {}
        self._state = JobUpdate(self._run, "queued")
        self._written = time.monotonic()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A run that was cut off must not hide what cut it off.
        with suppress(StoreError) if kind else nullcontext():
            self.close(error, finished=kind is None)

    def expect(self, sources: Iterable[str]) -> None:
        """Write the files down that are going to be taken in."""
        fresh = [source for source in dict.fromkeys(sources) if source not in self._files]
        jobs = [NewJob("file", name, {}) for name in fresh]
        numbers = self._store.jobs.make(self._user_id, self._run, jobs, self._holder)
        self._files.update(zip(fresh, numbers, strict=True))

    def progress(self, progress: Progress) -> None:
        stage = _STAGES[progress.stage]
        self._state = JobUpdate(self._run, stage, done=progress.done, total=progress.total)
        if progress.path in self._files and progress.stage in ("reading", "parsing"):
            number = self._files[progress.path]
            self._updates[number] = JobUpdate(number, stage, done=progress.done if progress.stage == "parsing" else 0)
        if time.monotonic() - self._written >= WRITTEN_EVERY_SECONDS:
            self._write()

    def settle(self, added: Added) -> None:
        """What became of one file."""
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
        """The end. A run that was cut off stays queued, for `resume`; one that could not be done has failed."""
        if isinstance(error, FootnotesError):
            self._state = JobUpdate(self._run, "failed", error=error.info(), retryable=error.retryable)
        else:
            self._state = JobUpdate(self._run, "ready" if finished else "queued")
        self._write()
        self._store.jobs.let_go(self._user_id)

    def _write(self) -> None:
        updates, self._updates = [self._state, *self._updates.values()], {}
        self._store.jobs.update(self._user_id, updates)
        self._written = time.monotonic()


def unfinished_runs(jobs: Iterable[Job]) -> list[Job]:
    """Runs that were cut off, or in which something failed that may work the next time."""
    everything = list(jobs)
    again = {job.run for job in everything if job.run and job.stage == "failed" and job.retryable}
    open_runs = (job for job in everything if job.run is None)
    return [
        job
        for job in open_runs
        if job.number in again or (job.retryable if job.stage == "failed" else job.stage != "ready")
    ]
