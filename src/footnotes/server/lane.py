"""The workers of a server in a folder: lanes, each a thread that runs jobs of some kinds, one batch after another."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from footnotes.errors import NotALibrary, WorkerDied
from footnotes.ingest.journal import unfinished_runs
from footnotes.server.batch import Batch, fail_worn_out
from footnotes.server.jobs import JobDocument, JobKind, Jobs, ServerJob
from footnotes.server.metrics import Metrics
from footnotes.server.spool import Spool
from footnotes.server.tasks import Report, Task, TaskEvent, TaskInterrupted, run_task
from footnotes.server.tenants import Tenants
from footnotes.server.worker import WorkerProcess
from footnotes.settings import Settings
from footnotes.store.make import open_store

_LOG = logging.getLogger("footnotes.server")
BATCH = 32
TURN_SECONDS, OWN_TURN_SECONDS = 3.0, 10.0
"""How long a job embeds before it yields to jobs of other tenants and to newer jobs. Longer than the time until
vectors are stored: each turn makes progress."""
LOCKED_WAIT_SECONDS = 2.0
REFRESH_SECONDS = 0.25


class WorkControl(Protocol):
    """Tells lanes to wait or to stop."""

    @property
    def must_wait(self) -> bool: ...

    @property
    def is_stopping(self) -> bool: ...

    def pause(self, seconds: float) -> None: ...


class Lane:
    """Runs jobs of some kinds. Other kinds have their own lanes and do not block these."""

    number = 0
    tries_again, retry_seconds = False, 0.0
    is_lost = False

    def __init__(
        self,
        stopping: WorkControl,
        jobs: Jobs,
        tenants: Tenants,
        metrics: Metrics,
        settings: Settings,
        spool: Spool,
        kinds: Collection[JobKind],
    ) -> None:
        self._stopping = stopping
        self._jobs = jobs
        self._tenants = tenants
        self._metrics = metrics
        self._spool = spool
        self._kinds = kinds
        self.wake = threading.Event()
        self.to_resume: list[str] = []
        self._batch: Batch | None = None
        self._stranded: list[ServerJob] = []
        self._doing: Task | None = None
        self._embedding_since: float | None = None
        self._is_void = False
        self.worker = WorkerProcess(tenants.folder, settings) if settings.serve_worker else None

    def work(self) -> None:
        """Run jobs until stopped."""
        try:
            while not self._stopping.is_stopping:
                self.wake.clear()
                if self._stopping.must_wait:
                    self.wake.wait(0.2)
                    continue
                try:
                    if self._run_next():
                        continue
                except Exception as error:  # one failed batch does not end the lane
                    _LOG.exception("a batch failed", extra={"reason": type(error).__name__})
                    self._stopping.pause(1.0)
                    continue
                self.wake.wait(5.0)
        finally:
            if self.worker is not None:
                self.worker.stop()

    def _run_next(self) -> bool:
        """Run the next batch or resume unfinished work; False if there is none."""
        for job in self._stranded:  # its outcome could not be stored: the disk may have been full
            self._jobs.change(job, held_by=self.number, state="queued")
        self._stranded = []
        if claimed := fail_worn_out(self._jobs.claim(BATCH, kinds=self._kinds), self._jobs, self.number):
            self._run_batch(claimed)
            return True
        if self.to_resume:
            if self._resume(Task("resume", self.to_resume[0])) not in ("broken_off", "locked"):
                self.to_resume.pop(0)
            return True
        return False

    def _run_batch(self, claimed: list[ServerJob]) -> None:
        self._stranded = claimed
        self._batch = Batch(claimed, self._jobs, self._spool, self)
        try:
            how = self._batch.run()
            self._stranded = []
        finally:
            self._batch = None
        if how == "locked":
            self._stopping.pause(LOCKED_WAIT_SECONDS)

    def _resume(self, task: Task) -> str:
        """Resume unfinished work of a writer outside of the server; return how it ended."""
        ended: list[str] = []

        def on_resume_event(event: TaskEvent) -> None:
            self.on_event(event, {})
            if event["type"] == "ended":
                ended.append(event["how"])

        try:
            self.run(task, on_resume_event)
        except WorkerDied as death:
            _LOG.error("the worker died", extra={"code": death.code, "reason": death.message})
            return "died"
        if ended[0] == "locked":
            self._stopping.pause(LOCKED_WAIT_SECONDS)
        return ended[0]

    def forget(self, job_ids: Sequence[str]) -> None:
        """Drop jobs whose documents were deleted; a batch with no other jobs is interrupted."""
        if self._batch is not None and self._batch.forget(job_ids):
            self._is_void = True

    # ── as a holder of jobs

    def run(self, task: Task, report: Report) -> None:
        self._doing, self._embedding_since, self._is_void = task, None, False
        if self.worker is None:
            run_task(task, self._tenants.using, self._spool.folder, report)
            return
        try:
            self.worker.run(task, report, self._must_interrupt)
        except WorkerDied as death:
            self._metrics.errors.labels(death.code).inc()
            raise

    def on_event(self, event: TaskEvent, left: Mapping[str, ServerJob]) -> None:
        if event["type"] == "progress":
            if self.worker is None and self._must_interrupt():
                raise TaskInterrupted
            if event["stage"] == "embedding" and self._embedding_since is None:
                self._embedding_since = time.monotonic()
        elif event["type"] == "embedded":
            self._metrics.count_embedding(event["texts"], event["role"], event["tokens"])

    def on_end(self, job: ServerJob, rows: Sequence[JobDocument], state: str) -> None:
        with self._tenants.using(job.tenant) as library:
            library.refresh()  # a client that sees the job done must find the document
        for row in rows:
            self._metrics.count_document(row.status, row.chunks)

    def _must_interrupt(self) -> bool:
        return self._is_void or self._stopping.is_stopping or self._stopping.must_wait or self._must_yield()

    def _must_yield(self) -> bool:
        """Return whether a job that embeds must yield to other jobs: texts come before vectors, and tenants take turns.

        Existing vectors are stored; the job continues from there at its next turn.
        """
        since, task = self._embedding_since, self._doing
        if since is None or task is None:
            return False
        spent = time.monotonic() - since
        fetched = task.kind in ("url", "reindex")
        if spent < (OWN_TURN_SECONDS if fetched else TURN_SECONDS):
            return False
        others, own = self._jobs.waiting_beside(task.tenant, self._kinds)
        makes_way = others or (own and spent >= OWN_TURN_SECONDS)
        if makes_way and self._batch is not None:
            self._batch.has_made_way = True
        return makes_way


class FolderWork:
    """Runs the jobs of a server in a folder, in a separate process or in threads."""

    def __init__(self, jobs: Jobs, tenants: Tenants, metrics: Metrics, settings: Settings, spool: Spool) -> None:
        self._jobs, self._tenants, self._settings, self._spool = jobs, tenants, settings, spool
        self._stop = threading.Event()
        self._pausing = 0
        self._pause_guard = threading.Lock()
        kinds: tuple[tuple[JobKind, ...], ...] = (("upload", "reindex"), ("url",))  # pages are only waited for
        self._lanes = [Lane(self, jobs, tenants, metrics, settings, spool, each) for each in kinds]
        self.worker = self._lanes[0].worker
        self._threads = [
            *(_thread(lane.work, name) for lane, name in zip(self._lanes, ("intake", "fetching"), strict=True)),
            _thread(self._refresh, "refresh"),
        ]

    def start(self) -> None:
        self._spool.open()
        self._jobs.recover()
        self._spool.sweep(self._jobs.spools())
        self._lanes[0].to_resume = unfinished_tenants(self._tenants.folder, self._tenants.settings)
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Interrupt the jobs soon. Committed work is stored; the next start resumes the rest."""
        self._stop.set()
        self.wake()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Interrupt the workers while the context is open; they continue afterwards."""
        with self._pause_guard:
            self._pausing += 1
        try:
            yield
        finally:
            with self._pause_guard:
                self._pausing -= 1
            self.wake()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def must_wait(self) -> bool:
        return self._pausing > 0

    def pause(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def wake(self) -> None:
        for lane in self._lanes:
            lane.wake.set()

    def forget(self, job_ids: Iterable[str]) -> None:
        gone = list(job_ids)
        for lane in self._lanes:
            lane.forget(gone)

    def resumes(self, tenant: str) -> bool:
        return any(tenant in lane.to_resume for lane in self._lanes)

    def checks(self) -> dict[str, bool]:
        return {"intake": all(thread.is_alive() for thread in self._threads[: len(self._lanes)])}

    def update(self, metrics: Metrics) -> None:
        metrics.workers.set(int(self.checks()["intake"]))

    def check_has_worker(self, job: ServerJob) -> None:
        """Do nothing: a folder's server always has a worker."""

    def _refresh(self) -> None:
        """Open indexes that another process changed, so searches need not wait for it."""
        while not self._stop.wait(REFRESH_SECONDS):
            try:
                self._tenants.refresh()
            except Exception as error:  # it must continue: otherwise searches would see no changes
                _LOG.warning("an index cannot be read", extra={"reason": type(error).__name__})


def _thread(target: Callable[[], None], name: str) -> threading.Thread:
    return threading.Thread(target=target, name=f"footnotes-{name}", daemon=True)


def unfinished_tenants(folder: Path, settings: Settings) -> list[str]:
    """Return the tenants with unfinished work."""
    try:
        store = open_store(settings, folder, create=False)
    except NotALibrary:
        return []
    try:
        return [
            user
            for user in store.users()
            if store.documents.counts(user)["waiting"] or unfinished_runs(store.jobs.all(user))
        ]
    finally:
        store.close()
