"""Accepts work and queues it for workers on any machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from footnotes.config import Settings
from footnotes.serve.intake import Intake
from footnotes.serve.jobs import ServerJob
from footnotes.serve.metrics import Metrics
from footnotes.serve.shared.jobs import Listener, SharedJobs
from footnotes.serve.shared.own import OwnWorker
from footnotes.serve.shared.queue import Queue
from footnotes.serve.shared.spool import Spool, spool_folder
from footnotes.serve.tenants import Tenants


class SharedIntake(Intake):
    """As `Intake`, but the work is done by whichever worker takes it."""

    def __init__(
        self, tenants: Tenants, jobs: SharedJobs, metrics: Metrics, settings: Settings, queue: Queue, listener: Listener
    ) -> None:
        self._tenants = tenants
        self._metrics = metrics
        self.jobs = jobs
        self._queue = queue
        self._listener = listener
        self._spool = spool_folder(tenants.folder, settings)
        self._bytes = Spool(self._spool, settings)
        self._lanes = []  # workers see to it
        self._stop = threading.Event()
        self._settings = settings
        self._own: OwnWorker | None = None
        self.worker = None

    def start(self) -> None:
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    ) -> ServerJob:
        job = super().accept_file(
            tenant, file, filename=filename, collection=collection, metadata=metadata, source=source
        )
        assert job.spool is not None
        self._bytes.hand_over(job.spool)
        return self._queued(job)

    def accept_url(
        self, tenant: str, address: str, *, collection: str | None, metadata: Mapping[str, Any] | None
    ) -> ServerJob:
        return self._queued(super().accept_url(tenant, address, collection=collection, metadata=metadata))

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        return self._queued(super().accept_reindex(tenant, options))

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        failed = self.jobs.find(tenant, job_id).state == "failed"
        job = super().retry(tenant, job_id)
        return self._queued(job) if failed else job

    def dismiss(self, tenant: str, job_id: str) -> ServerJob:
        """Forget a job; one that runs is told to break off, and is gone when it has."""
        job = self.jobs.find(tenant, job_id)
        if job.state in ("queued", "running"):
            self._queue.cancel(job_id)
        return super().dismiss(tenant, job_id)

    def _queued(self, job: ServerJob) -> ServerJob:
        self._queue.put(job.id, job.tenant)
        return job

    def _drop(self, job: ServerJob) -> None:
        if job.spool:
            self._bytes.drop(job.spool)
