"""`footnotes worker`: takes jobs from the queue and does them, on any machine that reaches the database.

A worker that dies is noticed by its heart, which stops: another one takes its jobs over. What it had written of a
document is removed or gone on with by whoever writes next; nothing is done twice, because a document has one living
holder at most. One that loses its connections opens them again: see `running.py`.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from footnotes.config import Settings
from footnotes.errors import FootnotesError, StoreLocked, StoreUnavailable, WorkerDied, is_retryable
from footnotes.serve.doing import BrokenOff, News, Task, do
from footnotes.serve.jobs import JobDocument, ServerJob, job_document, outcome
from footnotes.serve.metrics import Metrics
from footnotes.serve.shared.database import SharedDatabase
from footnotes.serve.shared.jobs import MOST_ATTEMPTS, SharedJobs
from footnotes.serve.shared.lease import Lease
from footnotes.serve.shared.queue import make_queue_schema
from footnotes.serve.shared.spool import Spool
from footnotes.serve.shared.workers import Counts, Workers
from footnotes.serve.tenants import Tenants
from footnotes.store.address import named
from footnotes.types import ErrorInfo
from footnotes.wire import to_json

_LOG = logging.getLogger("footnotes.worker")
FORGOTTEN_SECONDS = 15.0
"""A job that waits so long without anybody at it, and without being in the queue, is queued again."""
ALIKE = 31
"""Jobs of the same tenant that are done together with one: small documents cost little more together than alone."""
_LOST = StoreUnavailable("the worker lost its connection to the database in the middle of this job").info()
_IN_THE_WAY = StoreLocked("another writer was in the way").info()


class TryLater(Exception):
    """The queue is to hand the job out again after a while."""


class Worker:
    """Does jobs of all tenants."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.settings = settings = replace(settings, store=named(settings.store, f"footnotes worker {self.name}"))
        self.metrics = Metrics()
        self._database = SharedDatabase(settings.store, migrate=settings.migrate)
        make_queue_schema(self._database, migrate=settings.migrate)
        self._jobs = SharedJobs(self._database, settings.serve_queue)
        self._tenants = Tenants(folder, settings, self._embedded)
        self._lease = Lease(self._database)
        self._workers, self._counts = Workers(self._database), Counts(self._database)
        self._spool = Spool(folder, settings, self._database)
        self._at: set[str] = set()
        self._guard = threading.Lock()
        self._spool.open()
        self.heal()

    def close(self) -> None:
        for step in (self._counts.save, lambda: self._workers.forget(self.name), self._lease.close):
            try:
                step()
            except FootnotesError as error:  # the database is away: its heart stops, and that says the same
                _LOG.debug("the worker cannot take its leave", extra={"code": error.code})
        self._tenants.close()
        self._database.close()

    def heal(self) -> None:
        """Open again what was lost, and let the heart beat. Raises where the database is away."""
        if self._lease.renew():
            _LOG.info("the worker holds a lease", extra={"worker": self.name, "lease": self._lease.number})
        self._counts.save()
        self._workers.beat(self.name, running=len(self._at))

    @property
    def running(self) -> int:
        return len(self._at)

    # ── one job

    def do(self, job_id: str, attempt: int, must_stop: Callable[[], bool]) -> None:
        """Do one job, others of its tenant that are done as quickly with it, and later versions of the same sources.

        `TryLater` to begin again.
        """
        waiting = self._held_back(self._do_next(job_id, attempt, must_stop), must_stop)
        while waiting:  # the first attempt at each of them
            waiting += self._held_back(self._do_next(waiting.pop(), 1, must_stop), must_stop)

    def _held_back(self, jobs: Sequence[ServerJob], must_stop: Callable[[], bool]) -> list[str]:
        """Jobs that waited for these. Where they cannot be looked up, a sweep finds them."""
        try:
            return [] if must_stop() else self._jobs.next_after(jobs)
        except FootnotesError:
            return []

    def _do_next(self, job_id: str, attempt: int, must_stop: Callable[[], bool]) -> list[ServerJob]:
        try:
            taken, holder = self._take(job_id)
        except FootnotesError as error:
            raise TryLater(error.message) from error
        try:
            worn_out = [job for job in taken if job.attempts > job.most_attempts]
            for job in worn_out:
                died = WorkerDied("the worker died several times at this job")
                self._jobs.change(job, state="failed", error=died.info())
            if jobs := [job for job in taken if job not in worn_out]:
                _Batch(self, jobs, holder, attempt).run(must_stop)
        except FootnotesError as error:  # what became of it cannot be written down: it is done again
            raise TryLater(error.message) from error
        finally:
            with self._guard:
                self._at.difference_update(job.id for job in taken)
        return taken

    def _take(self, job_id: str) -> tuple[list[ServerJob], int]:
        with self._guard:
            if job_id in self._at:
                return [], 0  # it is being done with others of its tenant
            if self._lease.is_lost:
                raise StoreUnavailable("the worker has lost its connection to the database, and opens another")
            holder = self._lease.number
            taken = self._jobs.take(job_id, holder, ALIKE)
            self._at.update(job.id for job in taken)
        return taken, holder

    def _embedded(self, texts: int, role: str, tokens: int) -> None:
        self.metrics.embedding(texts, role, tokens)
        for name, value in (("embedding_calls", 1), ("embedded_texts", texts), ("embedding_tokens", tokens)):
            self._counts.add(name, role, value)

    def added(self, rows: Sequence[JobDocument]) -> None:
        for row in rows:
            self.metrics.added(row.status, row.chunks)
            self._counts.add("documents", row.status, 1)
            self._counts.add("chunks", "", row.chunks)

    def ended(self, kind: str, state: str) -> None:
        self.metrics.jobs.labels(kind, state).inc()
        self._counts.add("jobs", f"{kind} {state}", 1)

    # ── what others left

    def sweep_spool(self) -> None:
        """Remove bytes that belong to no job any more."""
        known = {row["spool"] for row in self._database.rows("SELECT spool FROM jobs WHERE spool IS NOT NULL")}
        self._spool.sweep(known)

    def forgotten(self) -> list[str]:
        """Jobs that wait or seem to run, and are neither in the queue nor with a worker.

        Also those whose bytes a worker of an older version did not find, because they came through the database.
        """
        sql = (
            "SELECT j.id FROM jobs j LEFT JOIN procrastinate_jobs q ON q.id = j.token "
            "WHERE j.state IN ('queued', 'running') AND j.updated_at < ? "
            "AND (q.id IS NULL OR q.status NOT IN ('todo', 'doing')) "
            "AND (j.state = 'queued' OR j.holder IS NULL OR j.holder NOT IN (SELECT holder FROM living) "
            "OR j.holder = ? AND j.id <> ALL (?::text[])) "
            "UNION ALL SELECT j.id FROM jobs j WHERE j.state = 'failed' AND j.attempts < j.most_attempts "
            "AND j.error::json ->> 'code' = 'source_unreadable' "
            "AND EXISTS (SELECT 1 FROM uploads u WHERE u.name = j.spool) LIMIT 500"
        )
        with self._guard:
            mine = (self._lease.number, sorted(self._at))
        return [row["id"] for row in self._database.rows(sql, (_ago(FORGOTTEN_SECONDS), *mine))]

    def queued_as(self, job_id: str, token: int) -> None:
        self._database.rows("UPDATE jobs SET token = ? WHERE id = ?", (token, job_id))

    def is_cancelled(self, job: ServerJob) -> bool:
        sql = (
            "SELECT 1 AS one FROM jobs j JOIN procrastinate_jobs q ON q.id = j.token "
            "WHERE j.id = ? AND q.abort_requested"
        )
        return bool(self._database.rows(sql, (job.id,)))


class _Batch:
    """Jobs that are done together, under one lease."""

    def __init__(self, worker: Worker, jobs: Sequence[ServerJob], holder: int, attempt: int) -> None:
        self._worker = worker
        self._jobs = worker._jobs
        self._spool = worker._spool
        self._holder = holder
        self._attempt = attempt
        self._first = jobs[0]
        self._taken = jobs
        self._left = {job.id: job for job in jobs}
        self._causes: dict[str, ErrorInfo | None] = {}
        self._is_alone = len(jobs) == 1

    @property
    def _is_lost(self) -> bool:
        return self._worker._lease.is_lost or self._worker._lease.number != self._holder

    def run(self, must_stop: Callable[[], bool]) -> None:
        began = time.monotonic()
        for job in self._taken:
            _LOG.info("a job begins", extra=_about(job))
        try:
            ending = self._done(must_stop)
        except Exception as failure:  # a job that nobody is at must not seem to run as long as this worker lives
            _LOG.exception("jobs broke off", extra={"reason": type(failure).__name__})
            known = failure if isinstance(failure, FootnotesError) else None
            said = known or FootnotesError(f"the worker failed ({type(failure).__name__})")
            ending = {"how": "failed", "error": to_json(said.info())}
        seconds = round(time.monotonic() - began, 3)
        self._is_alone = len(self._left) == 1
        if again := [job for job in list(self._left.values()) if self._is_to_be_done_again(job, ending)]:
            _LOG.warning("jobs are tried again", extra={"jobs": [job.id for job in again], "seconds": seconds})
        if self._first in again:
            cause = self._causes.get(self._first.id)
            raise TryLater(cause.message if cause else "the work was stopped")

    def _done(self, must_stop: Callable[[], bool]) -> News:
        """Do the jobs; how it ended. Those that are settled are not among the left any more."""
        ended: list[News] = []

        def heard(news: News) -> None:
            if news["news"] == "progress":
                if must_stop() or self._is_lost:
                    raise BrokenOff
                for job_id in news["jobs"]:
                    self._jobs.progress(job_id, news["stage"], news["done"], news["total"])
            elif news["news"] == "settled" and self._is_settled(
                self._left[news["job"]], list(map(job_document, news["documents"]))
            ):
                del self._left[news["job"]]
            elif news["news"] == "ended":
                ended.append(news)

        for job in self._taken:
            if job.spool:
                self._spool.fetch(job.spool)
        data = [{"id": job.id, "request": dict(job.request), "spool": job.spool} for job in self._taken]
        do(Task(self._first.kind, self._first.tenant, data), self._worker._tenants.using, self._spool.folder, heard)
        for job in self._taken:
            if job.spool:
                self._spool.let_go(job.spool)
        return ended[0]

    def _is_last(self, job: ServerJob) -> bool:
        return self._attempt >= MOST_ATTEMPTS or job.attempts >= job.most_attempts

    def _is_settled(self, job: ServerJob, rows: Sequence[JobDocument]) -> bool:
        """Write down what became of a job; False for one that may work the next time."""
        failed, error = outcome(rows)
        if not failed:
            self._jobs.change(job, state="ready", result=tuple(rows), error=error, spool=None)
            if job.spool:  # only now: whoever dies in between leaves bytes behind, but never a job without its bytes
                self._spool.drop(job.spool)
        elif error is not None and is_retryable(error.code) and not self._is_last(job):
            self._causes[job.id] = error
            return False
        else:
            self._jobs.change(job, state="failed", result=tuple(rows), error=error)
        self._worker.added(rows)
        self._note_end(job, "failed" if failed else "ready", error)
        return True

    def _is_to_be_done_again(self, job: ServerJob, ending: News) -> bool:
        """A job that was not settled fails, is cancelled, or waits for another attempt."""
        how = ending["how"]
        error = ErrorInfo(**ending["error"]) if how == "failed" else self._causes.get(job.id)
        if how == "broken_off" and self._worker.is_cancelled(job):
            self._jobs.remove([job])
            if job.spool:
                self._spool.drop(job.spool)
            self._note_end(job, "cancelled", None)
            return False
        if how == "broken_off" and not self._is_lost:  # the worker ends: this was no attempt
            self._jobs.release(job, self._holder, state="queued", attempts=job.attempts - 1)
            return True
        if how == "broken_off":
            error = _LOST
        error = error or _IN_THE_WAY
        self._causes[job.id] = error
        # Where one of several is at fault, each is tried alone.
        if self._is_last(job) or (self._is_alone and not is_retryable(error.code)):
            self._jobs.release(job, self._holder, state="failed", error=error)
            self._note_end(job, "failed", error)
            return False
        self._jobs.release(job, self._holder, state="queued", error=error)
        return True

    def _note_end(self, job: ServerJob, state: str, error: ErrorInfo | None) -> None:
        self._worker.ended(job.kind, state)
        _LOG.info("a job ends", extra={**_about(job), "state": state, "code": error.code if error else ""})


def _about(job: ServerJob) -> dict[str, Any]:
    return {"job": job.id, "kind": job.kind, "tenant": job.tenant, "attempt": job.attempts}


def _ago(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="milliseconds")
