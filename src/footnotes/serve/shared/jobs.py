"""Jobs that every server sees: their progress is written down, and told to whoever listens."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from footnotes.errors import FootnotesError, NotFound
from footnotes.serve.database import now
from footnotes.serve.jobs import Jobs, JobStage, ServerJob, _job
from footnotes.serve.shared.database import SharedDatabase
from footnotes.wire import to_json

CHANNEL = "footnotes_jobs"
MOST_ATTEMPTS = 5
TOLD_EVERY_SECONDS = 0.5
"""Progress is written and told this often at most."""


_TAKE = """
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = ?, updated_at = ? WHERE id = ? AND (
    state = 'queued' OR state = 'failed' AND error::json ->> 'code' = 'source_unreadable' OR state = 'running' AND (
        holder IS NULL OR holder = ? OR holder NOT IN (SELECT holder FROM living)))
    AND (state = 'failed' OR id IN (SELECT id FROM jobs_in_turn WHERE tenant = ?)) RETURNING *
"""
_RELEASE = """
UPDATE jobs SET state = ?, error = ?, attempts = ?, updated_at = ? WHERE id = ? AND holder = ? AND state = 'running'
RETURNING *
"""
_TAKE_ALIKE = """
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = ?, updated_at = ? WHERE id IN (
    SELECT id FROM jobs WHERE id IN (SELECT id FROM jobs_in_turn WHERE tenant = ? AND collection = ?)
    AND kind = 'upload' AND state = 'queued' AND attempts = 0 ORDER BY number LIMIT ? FOR UPDATE SKIP LOCKED)
RETURNING *
"""
_NEXT = """
SELECT id FROM jobs_in_turn WHERE tenant = ? AND state = 'queued' AND (collection, source) IN (
    SELECT collection, source FROM job_places WHERE id = ANY (?))
"""


class SharedJobs(Jobs):
    """The jobs of all tenants, on all servers."""

    def __init__(self, database: SharedDatabase, most_waiting: int) -> None:
        super().__init__(database, most_waiting)  # type: ignore[arg-type]
        self._shared = self.database = database
        self._told: dict[str, float] = {}

    _accept = "SELECT * FROM accept_job(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    def add(self, tenant: str, *given: Any, **options: Any) -> ServerJob:
        return self._tell(super().add(tenant, *given, **options))

    def change(self, job: ServerJob, **fields: Any) -> ServerJob:
        return self._tell(super().change(job, **fields))

    def progress(self, job_id: str, stage: JobStage, done: int, total: int) -> None:
        moment = time.monotonic()
        if moment - self._told.get(job_id, 0.0) < TOLD_EVERY_SECONDS:
            return
        self._told[job_id] = moment
        self._shared.rows(
            "UPDATE jobs SET stage = ?, done = ?, total = ?, updated_at = ? WHERE id = ? AND state = 'running'",
            (stage, done, total, now(), job_id),
        )
        self._shared.rows("SELECT pg_notify(?, ?)", (CHANNEL, job_id))

    def remove(self, jobs: Iterable[ServerJob]) -> None:
        for job in jobs:
            super().remove([job])
            self._shared.rows("SELECT pg_notify(?, ?)", (CHANNEL, job.id))

    def recover(self) -> None:
        """What runs on another server goes on; what a dead worker left, the workers see to."""

    def any_tenant(self, job_id: str) -> ServerJob:
        """A job by its id alone, for workers."""
        rows = self._shared.rows("SELECT * FROM jobs WHERE id = ?", (job_id,))
        if not rows:
            raise NotFound(f"there is no job {job_id!r}")
        return _with_progress(rows[0])

    def take(self, job_id: str, holder: int, most: int) -> list[ServerJob]:
        """A job that waits, or whose worker has died, and others like it: they are the holder's now.

        One that the holder has already is taken again: it is the holder who knows that nothing is done about it.
        Nothing while an earlier version of the same source is not done: whoever does that one takes this one next.
        """
        tenant = self._tenant_of(job_id)
        first = self._taken(_TAKE, (holder, now(), job_id, holder, tenant))
        if not first or first[0].kind != "upload" or first[0].attempts > 1:
            return first  # one that was tried before is tried alone: it may have been the death of the others
        alike = (holder, now(), tenant, json.dumps(first[0].request["collection"]), most)
        try:
            return [*first, *self._taken(_TAKE_ALIKE, alike)]
        except FootnotesError:
            return first  # it is taken: whatever was wrong with the others, it must not be left lying

    def release(self, job: ServerJob, holder: int, **fields: Any) -> bool:
        """A holder lets a job go, in another state. False where it has lost it to somebody else meanwhile."""
        gone = replace(job, **fields)
        error = None if gone.error is None else json.dumps(to_json(gone.error))
        values = (gone.state, error, gone.attempts, now(), job.id, holder)
        return bool(self._taken(_RELEASE, values))

    def allow_more(self, job_id: str) -> None:
        """Somebody tries a job again: it may be attempted as often as a new one."""
        self._shared.rows("UPDATE jobs SET most_attempts = attempts + ? WHERE id = ?", (MOST_ATTEMPTS, job_id))

    def next_after(self, jobs: Sequence[ServerJob]) -> list[str]:
        """Jobs that waited for these, of one tenant, to be done, and need not wait any more."""
        if not jobs:
            return []
        tenant = jobs[0].tenant
        return [row["id"] for row in self._shared.rows(_NEXT, (tenant, [job.id for job in jobs]))]

    def _tenant_of(self, job_id: str) -> str:
        rows = self._shared.rows("SELECT tenant FROM jobs WHERE id = ?", (job_id,))
        return str(rows[0]["tenant"]) if rows else ""

    def _taken(self, statement: str, values: tuple[Any, ...]) -> list[ServerJob]:
        taken = [_with_progress(row) for row in self._shared.rows(statement, values)]
        for job in taken:
            self._tell(job)
        return taken

    def look_again(self, job_id: str) -> None:
        """Somebody changed a job: let the event streams of this server know."""
        try:
            job = self.any_tenant(job_id)
        except NotFound:
            with self._guard:
                self._live.pop(job_id, None)
            return
        with self._guard:
            known = self._live.get(job_id)
        if known != job:
            self._note(job)

    def _current(self, job: ServerJob) -> ServerJob:
        row = self._shared.rows("SELECT stage, done, total FROM jobs WHERE id = ?", (job.id,))
        return _at_stage(job, row[0]) if row else job

    def _tell(self, job: ServerJob) -> ServerJob:
        self._told.pop(job.id, None)
        self._shared.rows("SELECT pg_notify(?, ?)", (CHANNEL, job.id))
        return job


def _with_progress(row: Mapping[str, Any]) -> ServerJob:
    return replace(_at_stage(_job(row), row), most_attempts=row["most_attempts"])


def _at_stage(job: ServerJob, row: Mapping[str, Any]) -> ServerJob:
    stage = row["stage"] if job.state == "running" else None
    return replace(job, stage=stage, done=row["done"], total=row["total"])


class Listener:
    """Hears which jobs changed, wherever that happened, and calls back. Connects again when the connection is lost."""

    def __init__(self, database: SharedDatabase, heard: Callable[[str], None]) -> None:
        self._database = database
        self._heard = heard
        self._names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._connection: Any = None
        self._thread = threading.Thread(target=self._listen, name="footnotes-listener", daemon=True)

    def start(self) -> None:
        self._connect()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._names.put("")
        self._thread.join()
        if self._connection is not None:
            with contextlib.suppress(FootnotesError):
                self._connection.let_go()

    def _connect(self) -> None:
        self._connection = self._database.pool.lasting("")
        self._connection.listen(CHANNEL, self._names.put)

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                self._next()
            except FootnotesError:
                self._stop.wait(1.0)

    def _next(self) -> None:
        try:
            name = self._names.get(timeout=1.0)
        except queue.Empty:
            if self._connection is None or self._connection.is_lost:
                self._connect()
                self._missed()
            return
        if name:
            self._heard(name)

    def _missed(self) -> None:
        """What changed while nobody listened."""
        for row in self._database.rows("SELECT id FROM jobs ORDER BY updated_at DESC LIMIT 200"):
            self._heard(row["id"])
