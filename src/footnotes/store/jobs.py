"""The job table: what was started, its progress, its result, and what is needed to repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from footnotes.store.core import Core
from footnotes.store.database import Cursor, Json
from footnotes.store.records import JobUpdate, NewJob
from footnotes.store.retry import retrying
from footnotes.store.rows import job_from, packed_error
from footnotes.types import Job

_KEPT = 10_000
"""The number of later entries after which finished runs are deleted."""


def listed(cursor: Cursor, *, files: bool = True) -> list[Job]:
    """Return runs and their files, oldest first."""
    return [job_from(row) for row in cursor.all("jobs" if files else "runs")]


def make(cursor: Cursor, run: int | None, new: Iterable[NewJob], holder: str) -> list[int]:
    """Record runs, or the files of a run, before work begins. Return their numbers."""
    if run is None:
        cursor.run("prune_jobs", kept=_KEPT)
    packed = [[job.kind, job.source, dict(job.request)] for job in new]
    if not packed:
        return []
    # Numbers follow the order of the jobs, but rows may return in any order.
    return sorted(row["pk"] for row in cursor.all("make_jobs", run=run, jobs=Json(packed), holder=holder))


def update(cursor: Cursor, updates: Sequence[JobUpdate]) -> None:
    """Update the progress of jobs. The last of several updates of a job counts."""
    last: dict[int, JobUpdate] = {}
    for job in updates:
        known = last.get(job.number)
        is_named = known is not None and known.document_id is not None and job.document_id is None
        last[job.number] = replace(job, document_id=known.document_id) if known is not None and is_named else job
    rows = [
        {
            "job": job.number,
            "stage": job.stage,
            "done": job.done,
            "total": job.total,
            "error": packed_error(job.error),
            "retryable": job.retryable,
            "document": job.document_id,
        }
        for _, job in sorted(last.items())
    ]
    cursor.many("set_jobs", rows)


def take(cursor: Cursor, numbers: Iterable[int], holder: str) -> None:
    """Start another attempt."""
    cursor.run("take_jobs", jobs=list(numbers), holder=holder)


def release(cursor: Cursor, holder: int) -> None:
    """Release the jobs of this writer and of dead writers."""
    cursor.run("release_jobs", holder=holder)


class Jobs:
    """The jobs of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def all(self, user_id: str, *, files: bool = True) -> list[Job]:
        """Return recorded jobs, oldest first: runs and, if wanted, their files."""
        with self._core.database.read(user_id) as cursor:
            return listed(cursor, files=files)

    @retrying
    def make(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]:
        with self._core.database.write(user_id) as cursor:
            return make(cursor, run, new, self._core.job_holder(user_id, holder))

    @retrying
    def take(self, user_id: str, numbers: Sequence[int], holder: str) -> None:
        with self._core.database.write(user_id) as cursor:
            take(cursor, numbers, self._core.job_holder(user_id, holder))

    @retrying
    def update(self, user_id: str, updates: Sequence[JobUpdate]) -> None:
        with self._core.database.write(user_id) as cursor:
            update(cursor, updates)

    @retrying
    def release(self, user_id: str) -> None:
        """Release the jobs of the caller and of dead writers."""
        with self._core.database.write(user_id) as cursor:
            release(cursor, self._core.holder(user_id))
