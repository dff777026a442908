"""The jobs of servers that share a PostgreSQL: any worker claims them. A read-only server has none."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from footnotes.errors import FootnotesError, ServerBusy
from footnotes.server.jobs import Jobs, ServerJob
from footnotes.server.metrics import Metrics
from footnotes.server.postgres import Listener, PostgresDatabase, SchemaWatch
from footnotes.server.spool import Spool
from footnotes.server.worker import end_with_parent
from footnotes.server.workers import Counts, Workers
from footnotes.settings import Settings

_LOG = logging.getLogger("footnotes.server")
STOP_SECONDS, WATCH_SECONDS = 30.0, 2.0
CONCURRENCY = 2


class SharedWork:
    """Leaves jobs to workers, and listens for changes."""

    worker = None

    def __init__(self, jobs: Jobs, folder: Path, settings: Settings, spool: Spool, database: PostgresDatabase) -> None:
        self._jobs, self._folder, self._settings, self._spool = jobs, folder, settings, spool
        self._workers, self._counts = Workers(database), Counts(database)
        self._schema = SchemaWatch(settings.store)
        self._listener = None if settings.read_only else Listener(database, jobs.refresh)
        self._own: OwnWorker | None = None
        self._stop = threading.Event()

    def start(self) -> None:
        if self._listener is None:  # a server that only reads
            return
        self._jobs.recover()
        self._spool.open()
        self._listener.start()
        if self._settings.serve_worker:
            self._own = OwnWorker(self._folder, self._settings)

    def stop(self, seconds: float) -> None:
        self._stop.set()
        if self._own is not None:
            self._own.stop()
        if self._listener is not None:
            self._listener.stop()

    def paused(self) -> AbstractContextManager[None]:
        """Do nothing: writers do not lock each other out, so no worker has to pause."""
        return nullcontext()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def wake(self) -> None:
        """Do nothing: the database notifies the workers."""

    def forget(self, job_ids: Iterable[str]) -> None:
        """Do nothing: workers check for themselves whether their jobs are gone."""

    def resumes(self, tenant: str) -> bool:
        return False

    def checks(self) -> dict[str, bool]:
        """Return whether the database has the schema of this version, and a worker is ready."""
        found = {"intake": not self._stop.is_set(), "schema": self._schema.is_current()}
        return found if self._listener is None else {**found, "workers": self._ready() > 0}

    def update(self, metrics: Metrics) -> None:
        metrics.workers.set(self._ready())
        metrics.set_worker_counts(self._counts.all())

    def check_has_worker(self, job: ServerJob) -> None:
        """Raise if no worker is alive to do a job."""
        if not self._ready():
            raise ServerBusy(
                f"no worker is alive; the document is pending as job {job.id}",
                remedy=f"Start one with `footnotes worker`, then see /v1/jobs/{job.id}.",
            )

    def _ready(self) -> int:
        try:
            return self._workers.ready()
        except FootnotesError:
            return 0


class OwnWorker:
    """A worker process that a server starts itself, so one command is enough; restarted when it dies."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._arguments = (folder, settings, CONCURRENCY, os.getpid())
        self._stop = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._watch, name="footnotes-own-worker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._process.terminate()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> multiprocessing.process.BaseProcess:
        process = multiprocessing.get_context("spawn").Process(target=_work, args=self._arguments, daemon=False)
        process.start()
        return process

    def _watch(self) -> None:
        while not self._stop.wait(WATCH_SECONDS):
            if not self._process.is_alive():
                _LOG.error("the worker died and is started again", extra={"exit_code": self._process.exitcode})
                self._process = self._start()


def _work(folder: Path, settings: Settings, concurrency: int, parent: int) -> None:
    from footnotes.server.logs import set_up_logs
    from footnotes.server.standalone import run

    end_with_parent(parent)
    os.nice(10)  # searches come first
    set_up_logs(settings.serve_log_level)
    run(folder, settings, concurrency)
