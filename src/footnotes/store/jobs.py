"""The job table: what was started, its progress, its result, and what is needed to repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from footnotes.store.core import Core
from footnotes.store.database import Json
from footnotes.store.records import JobUpdate, NewJob
from footnotes.store.retry import retrying
from footnotes.store.rows import job_from, packed_error
from footnotes.types import Job

_KEPT = 10_000
"""The number of later entries after which finished runs are deleted."""


class Jobs:
    """The jobs of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def all(self, user_id: str, *, files: bool = True) -> list[Job]:
        """Return recorded jobs, oldest first: runs and, if wanted, their files."""
        with self._core.database.read(user_id) as cursor:
            return [job_from(row) for row in cursor.all("jobs" if files else "runs")]

    @retrying
    def make(self, user_id: str, run: int | None, new: Iterable[NewJob], label: str) -> list[int]:
        """Record runs, or the files of a run, before work begins. Return their numbers.

        `label` names the writer for people.
        """
        packed = [[job.kind, job.source, dict(job.request)] for job in new]
        with self._core.database.write(user_id) as cursor:
            if run is None:
                cursor.run("prune_jobs", kept=_KEPT)
            if not packed:
                return []
            held_by = self._core.holder(user_id)
            rows = cursor.all("make_jobs", run=run, jobs=Json(packed), holder=held_by, label=label)
            return sorted(row["pk"] for row in rows)  # in the order of the jobs

    @retrying
    def take(self, user_id: str, numbers: Iterable[int], label: str) -> None:
        """Start another attempt."""
        with self._core.database.write(user_id) as cursor:
            cursor.run("take_jobs", jobs=list(numbers), holder=self._core.holder(user_id), label=label)

    @retrying
    def update(self, user_id: str, updates: Sequence[JobUpdate], *, release: bool = False) -> None:
        """Update the progress of jobs, of which the last update counts; `release` those of this and of dead writers."""
        last: dict[int, JobUpdate] = {}
        for job in updates:
            known = last.get(job.number)
            is_named = known is not None and known.document_id is not None and job.document_id is None
            last[job.number] = replace(job, document_id=known.document_id) if known is not None and is_named else job
        with self._core.database.write(user_id) as cursor:
            cursor.many("set_jobs", [_row(job) for _, job in sorted(last.items())])
            if release:
                cursor.run("release_jobs", holder=self._core.holder(user_id))


def _row(job: JobUpdate) -> dict[str, object]:
    return {
        "job": job.number,
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "error": packed_error(job.error),
        "retryable": job.retryable,
        "document": job.document_id,
    }
