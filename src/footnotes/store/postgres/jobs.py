"""The journal: what was begun, how far it is, what became of it, and what it takes to do it again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.rows import job_from
from footnotes.store.postgres.sql import queries
from footnotes.store.records import JobUpdate, NewJob
from footnotes.store.rows import packed_error
from footnotes.types import Job

_KEPT = 10_000
"""Finished runs are forgotten when so many later entries exist."""


def held_by(number: int, label: str) -> str:
    """How a job says who is at it: the number others know the writer by, and what people call it."""
    return f"{number} {clean(label)}"


def make(connection: Connection, user_id: str, run: int | None, new: Iterable[NewJob], holder: str) -> list[int]:
    """Write runs, or the files of a run, down before anything is done. Returns their numbers."""
    if run is None:
        connection.execute(queries()["prune_jobs"], user_id, _KEPT)
    made = []
    for job in new:
        what = (job.kind, clean(job.source), clean_json(job.request))
        made.append(int(connection.value(queries()["make_job"], user_id, run, *what, holder)))
    return made


def update(connection: Connection, user_id: str, updates: Sequence[JobUpdate]) -> None:
    rows = [
        (
            *(user_id, job.number, job.stage, job.done, job.total),
            *(clean_json(packed_error(job.error)), job.retryable, job.document_id),
        )
        for job in sorted(updates, key=lambda job: job.number)
    ]
    connection.many(queries()["set_job"], rows)


def take(connection: Connection, user_id: str, numbers: Iterable[int], holder: str) -> None:
    """Try again: one attempt more."""
    connection.execute(queries()["take_jobs"], user_id, list(numbers), holder)


def let_go(connection: Connection, user_id: str, number: int) -> None:
    """The writer is not at its jobs any more, and neither is whoever died."""
    connection.execute(queries()["let_go_jobs"], user_id, number)


def listed(connection: Connection, user_id: str) -> list[Job]:
    return [job_from(row) for row in connection.fetch(queries()["jobs"], user_id)]
