"""The journal: what was begun, how far it is, what became of it, and what it takes to do it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, cast

import apsw

from footnotes.store.records import JobUpdate, NewJob
from footnotes.store.sqlite.documents import now
from footnotes.store.sqlite.rows import job_from
from footnotes.store.sqlite.sql import queries
from footnotes.types import Job

_KEPT = 10_000
"""Finished runs are forgotten when so many later entries exist."""


def make(connection: apsw.Connection, user_id: str, run: int | None, new: Iterable[NewJob], holder: str) -> list[int]:
    """Write runs, or the files of a run, down before anything is done. Returns their numbers."""
    if run is None:
        connection.execute(queries()["prune_jobs"], (user_id, _KEPT))
    return [_make(connection, user_id, run, job, holder) for job in new]


def _make(connection: apsw.Connection, user_id: str, run: int | None, job: NewJob, holder: str) -> int:
    request = json.dumps(dict(job.request), ensure_ascii=False)
    moment = now()
    row = (user_id, run, job.kind, job.source, request, 0, holder, moment, moment)
    made = connection.execute(queries()["make_job"], row).fetchone()
    assert made is not None
    return int(made[0])


def update(connection: apsw.Connection, user_id: str, updates: Sequence[JobUpdate]) -> None:
    moment = now()
    rows = []
    for job in updates:
        error = json.dumps(asdict(job.error), ensure_ascii=False) if job.error else None
        state = (job.stage, job.done, job.total, error, job.retryable, job.document_id)
        rows.append((*state, moment, user_id, job.number))
    connection.executemany(queries()["set_job"], rows)


def take(connection: apsw.Connection, user_id: str, numbers: Iterable[int], holder: str) -> None:
    """Try again: one attempt more."""
    connection.executemany(queries()["take_job"], [(holder, now(), user_id, number) for number in numbers])


def let_go(connection: apsw.Connection) -> None:
    """Nobody is at any of them now: the writer that was has ended."""
    connection.execute(queries()["let_go_jobs"])


def listed(connection: apsw.Connection, user_id: str) -> list[Job]:
    return [job_from(cast(tuple[Any, ...], row)) for row in connection.execute(queries()["jobs"], (user_id,))]
