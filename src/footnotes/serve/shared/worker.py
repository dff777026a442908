"""`footnotes worker`: takes jobs from the queue and does them, on any machine that reaches the database.

A worker that dies is noticed by its heart, which stops: another one takes its jobs over. What it had written of a
document is removed or gone on with by whoever writes next; nothing is done twice, because a document has one living
holder at most.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from footnotes.config import Settings
from footnotes.errors import FootnotesError, WorkerDied, is_retryable
from footnotes.serve.doing import BrokenOff, News, Task, do, error_data
from footnotes.serve.jobs import ServerJob, outcome
from footnotes.serve.shared.database import SharedDatabase
from footnotes.serve.shared.jobs import SharedJobs
from footnotes.serve.shared.queue import MOST_ATTEMPTS, QUEUE, TASK, make_app, make_queue_schema
from footnotes.serve.shared.spool import Spool, spool_folder
from footnotes.serve.tenants import Tenants
from footnotes.types import ErrorInfo

_LOG = logging.getLogger("footnotes.worker")
HEARTBEAT_SECONDS, STALLED_SECONDS, SWEPT_EVERY_SECONDS = 5.0, 15.0, 5.0
FORGOTTEN_SECONDS = 15.0
"""A job that waits so long without anybody at it, and without being in the queue, is queued again."""
STOP_SECONDS = 20.0
ALIKE = 31
"""Jobs of the same tenant that are done together with one: small documents cost little more together than alone."""


class TryLater(Exception):
    """The queue is to hand the job out again after a while."""


class Worker:
    """Does jobs of all tenants."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._database = SharedDatabase(settings.store)
        make_queue_schema(self._database)
        self._jobs = SharedJobs(self._database, settings.serve_queue)
        self._tenants = Tenants(folder, settings)
        self._lock = self._database.pool.lasting("")
        self._holder = int(self._lock.value("SELECT nextval('holders')"))
        self._lock.execute("SELECT pg_advisory_lock(4610, $1)", self._holder)  # as long as it is held, this one lives
        self._spool = Spool(spool_folder(folder, settings), settings)

    def close(self) -> None:
        self._lock.let_go()
        self._tenants.close()
        self._database.close()

    def do(self, job_id: str, attempt: int, must_stop: Callable[[], bool]) -> None:
        """Do one job, others of its tenant that are done as quickly with it, and later versions of the same sources.

        `TryLater` to begin again.
        """
        waiting = [job_id]
        while waiting:
            taken = self._jobs.take(waiting.pop(), self._holder, ALIKE)
            self._do_taken(taken, attempt, must_stop)
            waiting += [] if must_stop() else self._jobs.next_after(taken)

    def _do_taken(self, taken: Sequence[ServerJob], attempt: int, must_stop: Callable[[], bool]) -> None:
        worn_out = [job for job in taken if job.attempts > MOST_ATTEMPTS]
        for job in worn_out:
            died = WorkerDied("the worker died several times at this job")
            self._jobs.change(job, state="failed", error=died.info())
        if jobs := [job for job in taken if job not in worn_out]:
            self._run(jobs, must_stop, last=attempt >= MOST_ATTEMPTS)

    def _run(self, jobs: Sequence[ServerJob], must_stop: Callable[[], bool], *, last: bool) -> None:
        running = {job.id: job for job in jobs}
        try:
            ending = self._done(jobs, running, must_stop, last=last)
        except Exception as failure:  # a job that nobody is at must not seem to run as long as this worker lives
            _LOG.exception("jobs broke off", extra={"reason": type(failure).__name__})
            known = failure if isinstance(failure, FootnotesError) else None
            said = known or FootnotesError(f"the worker failed ({type(failure).__name__})")
            ending = {"how": "failed", "error": error_data(said)}
        self._see_to(jobs[0], list(running.values()), ending, last)

    def _done(
        self, jobs: Sequence[ServerJob], running: dict[str, ServerJob], must_stop: Callable[[], bool], *, last: bool
    ) -> News:
        """Do jobs; how it ended. Those that are settled are not among the running any more."""
        ended: list[News] = []

        def heard(news: News) -> None:
            if news["news"] == "progress":
                if must_stop() or self._lock.is_lost:
                    raise BrokenOff
                for job_id in news["jobs"]:
                    self._jobs.progress(job_id, news["stage"], news["done"], news["total"])
            elif news["news"] == "settled" and self._settled(running[news["job"]], news["documents"], last=last):
                del running[news["job"]]
            elif news["news"] == "ended":
                ended.append(news)

        for job in jobs:
            self._fetch(job)
        data = [{"id": job.id, "request": dict(job.request), "spool": job.spool} for job in jobs]
        do(Task(jobs[0].kind, jobs[0].tenant, data), self._tenants.using, self._spool.folder, heard)
        for job in jobs:
            if job.spool:
                self._spool.let_go(job.spool)
        return ended[0]

    def _fetch(self, job: ServerJob) -> None:
        if job.spool:
            self._spool.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._spool.fetch(job.spool)

    def _settled(self, job: ServerJob, rows: list[dict[str, Any]], *, last: bool) -> bool:
        """Write down what became of a job; False for one that may work the next time."""
        failed, error = outcome(rows)
        if not failed:
            self._jobs.change(job, state="ready", result=tuple(rows), error=error, spool=None)
            if job.spool:  # only now: whoever dies in between leaves bytes behind, but never a job without its bytes
                self._spool.drop(job.spool)
        elif error is not None and is_retryable(error.code) and not last:
            return False
        else:
            self._jobs.change(job, state="failed", result=tuple(rows), error=error)
        return True

    def _see_to(self, first: ServerJob, left: list[ServerJob], ending: News, last: bool) -> None:
        """Jobs that were not settled: they fail, or somebody tries again."""
        how, error = ending["how"], ending["error"]
        again: list[str] = []
        for job in left:
            if how == "failed" and (last or (len(left) == 1 and not is_retryable(error["code"]))):
                self._jobs.change(job, state="failed", error=ErrorInfo(**error))
            elif how == "failed" and not is_retryable(error["code"]):  # one of them is at fault: each is tried alone
                self._jobs.change(job, state="queued")
                again.append(job.id)
            elif how == "broken_off" and self._is_cancelled(job):
                self._jobs.remove([job])
                if job.spool:
                    self._spool.drop(job.spool)
            else:
                self._jobs.change(job, state="queued", attempts=job.attempts - 1)
                again.append(job.id)
        if first.id in again:
            raise TryLater(error["message"] if error else "another writer was in the way")

    def _is_cancelled(self, job: ServerJob) -> bool:
        sql = (
            "SELECT 1 AS one FROM jobs j JOIN procrastinate_jobs q ON q.id = j.token "
            "WHERE j.id = ? AND q.abort_requested"
        )
        return bool(self._database.rows(sql, (job.id,)))

    # ── what others left

    def sweep_spool(self) -> None:
        """Remove bytes that belong to no job any more."""
        known = {row["spool"] for row in self._database.rows("SELECT spool FROM jobs WHERE spool IS NOT NULL")}
        self._spool.sweep(known)

    def forgotten(self) -> list[str]:
        """Jobs that wait or seem to run, and are neither in the queue nor with a worker."""
        sql = (
            "SELECT j.id FROM jobs j LEFT JOIN procrastinate_jobs q ON q.id = j.token "
            "WHERE j.state IN ('queued', 'running') AND j.updated_at < ? "
            "AND (q.id IS NULL OR q.status NOT IN ('todo', 'doing')) "
            "AND (j.state = 'queued' OR j.holder IS NULL OR j.holder NOT IN (SELECT holder FROM living)) LIMIT 500"
        )
        return [row["id"] for row in self._database.rows(sql, (_ago(FORGOTTEN_SECONDS),))]

    def queued_as(self, job_id: str, token: int) -> None:
        self._database.rows("UPDATE jobs SET token = ? WHERE id = ?", (token, job_id))


def run(folder: Path, settings: Settings, concurrency: int, *, once: bool = False) -> None:
    """Work until told to stop; with `once`, until the queue is empty."""
    worker = Worker(folder, replace(settings, quote_providers=False))
    try:
        worker.sweep_spool()
        asyncio.run(_run(worker, settings, concurrency, once))
    finally:
        worker.close()


async def _run(worker: Worker, settings: Settings, concurrency: int, once: bool) -> None:
    import procrastinate

    app = make_app(settings.store, waiting=False)
    retry = procrastinate.RetryStrategy(max_attempts=MOST_ATTEMPTS, exponential_wait=2, retry_exceptions=[TryLater])
    stopping = asyncio.Event()

    @app.task(name=TASK, queue=QUEUE, retry=retry, pass_context=True)  # type: ignore[untyped-decorator,unused-ignore]
    async def take_in(context: Any, job_id: str) -> None:
        def must_stop() -> bool:
            return stopping.is_set() or bool(context.should_abort())

        await asyncio.to_thread(worker.do, job_id, context.job.attempts + 1, must_stop)

    async with app.open_async():
        sweeping = asyncio.create_task(_sweep(app, worker))
        try:
            await app.run_worker_async(
                queues=[QUEUE],
                concurrency=concurrency,
                wait=not once,
                delete_jobs="successful",
                update_heartbeat_interval=HEARTBEAT_SECONDS,
                stalled_worker_timeout=STALLED_SECONDS,
                shutdown_graceful_timeout=STOP_SECONDS,
                fetch_job_polling_interval=2.0,
            )
        finally:
            stopping.set()
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping


async def _sweep(app: Any, worker: Worker) -> None:
    """See to what dead workers left, again and again. Every worker does: it is harmless twice."""
    while True:
        try:
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS, queue=QUEUE):
                await app.job_manager.retry_job(job)
                _LOG.warning("a job of a worker that died is taken over", extra={"job": job.task_kwargs["job_id"]})
            for job_id in await asyncio.to_thread(worker.forgotten):
                token = await app.configure_task(name=TASK, queue=QUEUE).defer_async(job_id=job_id)
                await asyncio.to_thread(worker.queued_as, job_id, token)
        except FootnotesError as error:
            _LOG.warning("dead workers cannot be looked for", extra={"code": error.code, "reason": error.message})
        except Exception as error:  # the queue's own errors: the next round tries again
            _LOG.warning("dead workers cannot be looked for", extra={"reason": type(error).__name__})
        await asyncio.sleep(SWEPT_EVERY_SECONDS)


def _ago(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="milliseconds")
