"""One lane of work: a thread that has jobs of some kinds done, one task after another, here or in a worker process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes.config import Settings
from footnotes.errors import WorkerDied
from footnotes.serve.doing import BrokenOff, News, Task, do
from footnotes.serve.jobs import JobKind, ServerJob, job_document
from footnotes.serve.metrics import Metrics
from footnotes.serve.tenants import Tenants
from footnotes.serve.worker import WorkerProcess
from footnotes.types import ErrorInfo

if TYPE_CHECKING:
    from footnotes.serve.intake import Intake

_LOG = logging.getLogger("footnotes.serve")
BATCH = 32
MOST_DEATHS = 3
TURN_SECONDS, OWN_TURN_SECONDS = 3.0, 10.0
"""How long vectors are made before they wait for jobs of other tenants, and for new ones of the same. Longer than it
takes until vectors are kept: each turn brings the work forward."""
_NOT_A_JOB = 2**63
LOCKED_WAIT_SECONDS = 2.0


class Lane:
    """Does jobs of some kinds, by turns of the tenants. What other kinds wait for holds up nobody here."""

    def __init__(
        self,
        intake: Intake,
        tenants: Tenants,
        metrics: Metrics,
        settings: Settings,
        spool: Path,
        kinds: Collection[JobKind],
    ) -> None:
        self._intake = intake
        self._jobs = intake.jobs
        self._tenants = tenants
        self._metrics = metrics
        self._spool = spool
        self._kinds = kinds
        self.wake = threading.Event()
        self.to_resume: list[str] = []
        self._running: dict[str, ServerJob] = {}
        self._stranded: list[str] = []
        self._served: dict[str, int] = {}
        self._turns = 0
        self._texts_in: set[str] = set()
        self._doing: Task | None = None
        self._embedding_since: float | None = None
        self._is_void = False
        self.worker = WorkerProcess(tenants.folder, settings) if settings.serve_worker else None

    def work(self) -> None:
        """Until the intake stops."""
        try:
            while not self._intake.is_stopping:
                self.wake.clear()
                if self._intake.is_paused:
                    self.wake.wait(0.2)
                    continue
                try:
                    if self._one_task():
                        continue
                except Exception as error:  # the worker outlives whatever one batch does
                    _LOG.exception("a batch failed", extra={"reason": type(error).__name__})
                    self._intake.pause(1.0)
                    continue
                self.wake.wait(5.0)
        finally:
            if self.worker is not None:
                self.worker.stop()

    def _one_task(self) -> bool:
        """Do the next thing there is to do, of the tenant who was served longest ago; False when there is nothing."""
        if self._stranded:
            self._jobs.requeue(self._stranded)
            self._stranded = []
        waiting = self._jobs.waiting_tenants(self._kinds)
        found = {**dict.fromkeys(self.to_resume, _NOT_A_JOB), **waiting}
        if not found:
            return False
        tenant = min(found, key=lambda name: (self._served.get(name, 0), found[name]))
        self._turns += 1
        self._served[tenant] = self._turns
        if tenant in waiting:
            self._run(self._jobs.next_batch(tenant, BATCH, self._texts_in, self._kinds))
        elif self._do(Task("resume", tenant)) not in ("broken_off", "locked"):
            self.to_resume.remove(tenant)
        if not waiting:
            self._served.clear()
            self._texts_in.clear()
        return True

    def _run(self, batch: list[ServerJob]) -> None:
        if not batch:  # dismissed this moment, or held back by what another lane is at
            self.wake.wait(0.2)
            return
        self._stranded = [job.id for job in batch]  # until what became of each is written down: the disk may be full
        jobs = [self._jobs.change(job, state="running", attempts=job.attempts + 1) for job in batch]
        self._running = {job.id: job for job in jobs}
        data = [{"id": job.id, "request": dict(job.request), "spool": job.spool} for job in jobs]
        try:
            self._do(Task(jobs[0].kind, jobs[0].tenant, data))
            self._stranded = []
        finally:
            self._running = {}

    def _do(self, task: Task) -> str:
        """Have a task done, here or in the worker, and see to what it left; says how it ended."""
        ending: list[News] = []
        self._doing, self._embedding_since, self._is_void = task, None, False

        def heard(news: News) -> None:
            if news["news"] == "ended":
                ending.append(news)
            else:
                self._heard(task.tenant, news)

        try:
            if self.worker is not None:
                self.worker.do(task, heard, self._must_break_off)
            else:
                do(task, self._tenants.using, self._spool, heard)
        except WorkerDied as death:
            _LOG.error("the worker died", extra={"code": death.code, "reason": death.message})
            self._metrics.errors.labels(death.code).inc()
            self._died(death)
            return "died"
        return self._ended(ending[0])

    def _must_break_off(self) -> bool:
        return self._is_void or self._intake.is_stopping or self._intake.is_paused or self._makes_way()

    def forget(self, job_ids: Iterable[str]) -> None:
        """What these jobs are about was deleted: a task of none but such breaks off."""
        found = [job_id for job_id in job_ids if self._running.pop(job_id, None) is not None]
        if found and not self._running:
            self._is_void = True

    def _makes_way(self) -> bool:
        """Whether vectors, of which some were made, wait for the texts of others: words come first, and in turns.

        What has a vector keeps it; the job waits, and goes on where it was when it is its turn again.
        """
        since, task = self._embedding_since, self._doing
        if since is None or task is None:
            return False
        spent = time.monotonic() - since
        fetched = task.kind in ("url", "reindex")
        if spent < (OWN_TURN_SECONDS if fetched else TURN_SECONDS):
            return False
        others, own = self._jobs.anybody_waits(task.tenant, self._texts_in, self._kinds)
        return others or (own and spent >= OWN_TURN_SECONDS)

    def _heard(self, tenant: str, news: News) -> None:
        if news["news"] == "progress":
            if self.worker is None and self._must_break_off():
                raise BrokenOff
            if news["stage"] == "embedding" and self._embedding_since is None:
                self._embedding_since = time.monotonic()
                self._texts_in.update(self._running)
            for job_id in news["jobs"]:
                self._jobs.progress(job_id, news["stage"], news["done"], news["total"])
        elif news["news"] == "settled":
            if (job := self._running.pop(news["job"], None)) is not None:
                self._intake.settle(tenant, job, list(map(job_document, news["documents"])))
        elif news["news"] == "embedded":
            self._metrics.embedding(news["texts"], news["role"], news["tokens"])

    def _ended(self, news: News) -> str:
        """See to the jobs that were not settled."""
        how: str = news["how"]
        left = list(self._running.values())
        for job in left:
            if how == "failed" and len(left) > 1:  # one of them is at fault: each is tried alone
                self._jobs.change(job, state="queued")
            elif how == "failed":
                self._jobs.change(job, state="failed", error=ErrorInfo(**news["error"]))
            elif how != "done":
                self._jobs.change(job, state="queued", attempts=job.attempts - 1)
        if how == "locked":
            self._intake.pause(LOCKED_WAIT_SECONDS)
        return how

    def _died(self, death: WorkerDied) -> None:
        """Jobs wait for another try, one at a time; who was there at too many deaths has failed."""
        for job in list(self._running.values()):
            if job.attempts >= MOST_DEATHS:
                self._jobs.change(job, state="failed", error=death.info())
            else:
                self._jobs.change(job, state="queued")
