"""The journal: what was begun, how far it is, what became of it, and what it takes to do it again."""

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
"""Finished runs are forgotten when so many later entries exist."""


def listed(cursor: Cursor, *, files: bool = True) -> list[Job]:
    """Runs, and the files of each, oldest first."""
    return [job_from(row) for row in cursor.all("jobs" if files else "runs")]


def make(cursor: Cursor, run: int | None, new: Iterable[NewJob], holder: str) -> list[int]:
    """Write runs, or the files of a run, down before anything is done. Returns their numbers."""
    if run is None:
        cursor.run("prune_jobs", kept=_KEPT)
    packed = [[job.kind, job.source, dict(job.request)] for job in new]
    if not packed:
        return []
    # Numbers are given in the order of the jobs, whatever order they come back in.
    return sorted(row["pk"] for row in cursor.all("make_jobs", run=run, jobs=Json(packed), holder=holder))


def update(cursor: Cursor, updates: Sequence[JobUpdate]) -> None:
    """Say how far jobs are. Of several updates of a job the last one counts."""
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
    """Try again: one attempt more."""
    cursor.run("take_jobs", jobs=list(numbers), holder=holder)


def let_go(cursor: Cursor, holder: int) -> None:
    """The writer is not at its jobs any more, and neither are writers that died."""
    cursor.run("let_go_jobs", holder=holder)


class Jobs:
    """The jobs of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def all(self, user_id: str, *, files: bool = True) -> list[Job]:
        """What was begun and has not been forgotten, oldest first: runs and, if wanted, the files of each."""
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
    def let_go(self, user_id: str) -> None:
        """The caller is not at its jobs any more, and neither are writers that died."""
        with self._core.database.write(user_id) as cursor:
            let_go(cursor, self._core.holder(user_id))
