"""A server that only reads, on a replica: it searches and answers, and refers changes to the primary."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

from footnotes.config import Settings
from footnotes.serve.intake import Intake
from footnotes.serve.jobs import Jobs, ServerJob
from footnotes.serve.metrics import Metrics
from footnotes.serve.shared.schema import SchemaWatch
from footnotes.serve.tenants import Tenants
from footnotes.store.postgres.store import refused


class ReadingIntake(Intake):
    """Takes nothing in."""

    def __init__(self, tenants: Tenants, jobs: Jobs, metrics: Metrics, settings: Settings) -> None:
        self._tenants = tenants
        self._metrics = metrics
        self._primary = settings.primary
        self._schema = SchemaWatch(settings.store)
        self._stop = threading.Event()
        self._to_resume: list[str] = []
        self.jobs = jobs
        self.worker = None

    def start(self) -> None:
        """There is nothing to do."""

    def stop(self, seconds: float = 20.0) -> None:
        self._stop.set()

    @property
    def alive(self) -> bool:
        return not self._stop.is_set()

    def checks(self) -> dict[str, bool]:
        return {"intake": self.alive, "schema": self._schema.is_current()}

    def update(self, metrics: Metrics) -> None:
        metrics.workers.set(0)

    def check_may_change(self) -> None:
        raise refused(self._primary)

    def accept_file(self, tenant: str, file: BinaryIO, **given: Any) -> ServerJob:
        raise refused(self._primary)

    def accept_url(self, tenant: str, address: str, **given: Any) -> ServerJob:
        raise refused(self._primary)

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        raise refused(self._primary)

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        raise refused(self._primary)

    def dismiss(self, tenant: str, job_id: str) -> ServerJob:
        raise refused(self._primary)
