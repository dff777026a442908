"""Accepts work and queues it for workers on any machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from footnotes.config import Settings
from footnotes.errors import FootnotesError, ServerBusy
from footnotes.serve.intake import Intake
from footnotes.serve.jobs import ServerJob
from footnotes.serve.metrics import Metrics
from footnotes.serve.shared.jobs import Listener, SharedJobs
from footnotes.serve.shared.own import OwnWorker
from footnotes.serve.shared.queue import Queue
from footnotes.serve.shared.schema import SchemaWatch
from footnotes.serve.shared.spool import Spool
from footnotes.serve.shared.workers import Counts, Workers
from footnotes.serve.tenants import Tenants

NOBODY_SECONDS, LOOK_SECONDS = 10.0, 2.0
"""How long somebody who waits for a job gives workers to appear, and how often they are looked for."""


class SharedIntake(Intake):
    """As `Intake`, but the work is done by whichever worker takes it."""

    def __init__(
        self,
        tenants: Tenants,
        jobs: SharedJobs,
        metrics: Metrics,
        settings: Settings,
        queue: Queue,
        listener: Listener,
        workers: Workers,
    ) -> None:
        self.workers = workers
        self._counts = Counts(jobs.database)
        self._schema = SchemaWatch(settings.store)
        self._tenants = tenants
        self._metrics = metrics
        self.jobs = jobs
        self._queue = queue
        self._listener = listener
        self._bytes = Spool(tenants.folder, settings, jobs.database)
        self._spool = self._bytes.folder
        self._lanes = []  # workers see to it
        self._stop = threading.Event()
        self._settings = settings
        self._own: OwnWorker | None = None
        self.worker = None

    def start(self) -> None:
        self._bytes.open()
        self._listener.start()
        if self._settings.serve_worker:
            self._own = OwnWorker(self._tenants.folder, self._settings)

    def stop(self, seconds: float = 20.0) -> None:
        self._stop.set()
        if self._own is not None:
            self._own.stop()
        self._listener.stop()
        self._queue.close()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Writers do not keep each other out: nobody has to pause."""
        yield

    @property
    def alive(self) -> bool:
        return not self._stop.is_set()

    def checks(self) -> dict[str, bool]:
        """As `Intake.checks`; and the database has the schema of this version, and a worker that could do a job."""
        try:
            workers = self.workers.ready() > 0
        except FootnotesError:
            workers = False
        return {"intake": self.alive, "schema": self._schema.is_current(), "workers": workers}

    def update(self, metrics: Metrics) -> None:
        metrics.workers.set(self.workers.ready())
        metrics.take_over(self._counts.all())

    def heard(self, job_id: str) -> None:
        """A job changed somewhere."""
        assert isinstance(self.jobs, SharedJobs)
        self.jobs.look_again(job_id)

    def accept_file(
        self,
        tenant: str,
        file: BinaryIO,
        *,
        filename: str,
        collection: str | None,
        metadata: Mapping[str, Any] | None,
        source: str | None = None,
        **making: Any,
    ) -> ServerJob:
        named: dict[str, Any] = {"filename": filename, "collection": collection, "metadata": metadata, "source": source}
        job = super().accept_file(tenant, file, **named, **making)
        return self._queued(job)

    def _hand_over(self, name: str) -> None:
        self._bytes.hand_over(name)

    def accept_url(
        self, tenant: str, address: str, *, collection: str | None, metadata: Mapping[str, Any] | None
    ) -> ServerJob:
        return self._queued(super().accept_url(tenant, address, collection=collection, metadata=metadata))

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        return self._queued(super().accept_reindex(tenant, options))

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        failed = self.jobs.find(tenant, job_id).state == "failed"
        if failed:
            assert isinstance(self.jobs, SharedJobs)
            self.jobs.allow_more(job_id)
        job = super().retry(tenant, job_id)
        return self._queued(job) if failed else job

    def dismiss(self, tenant: str, job_id: str) -> ServerJob:
        """Forget a job; one that runs is told to break off, and is gone when it has."""
        job = self.jobs.find(tenant, job_id)
        if job.state in ("queued", "running"):
            self._queue.cancel(job_id)
        return super().dismiss(tenant, job_id)

    async def settled(
        self, job: ServerJob, seconds: float, is_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> ServerJob:
        """As `Intake.settled`, but nobody waits long for a worker where there is none."""
        look = time.monotonic() + NOBODY_SECONDS

        async def is_over() -> bool:
            nonlocal look
            if time.monotonic() >= look:
                look = time.monotonic() + LOOK_SECONDS
                if not await asyncio.to_thread(self.workers.ready):
                    raise ServerBusy(
                        f"no worker is alive to do it; the document waits as job {job.id}",
                        remedy=f"Start one with `footnotes worker`, then look at /v1/jobs/{job.id}.",
                    )
            return is_gone is not None and await is_gone()

        return await super().settled(job, seconds, is_over)

    def _queued(self, job: ServerJob) -> ServerJob:
        self._queue.put(job.id, job.tenant)
        return job

    def _drop_bytes(self, name: str) -> None:
        self._bytes.drop(name)
