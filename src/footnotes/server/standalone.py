"""`footnotes worker`: claims and runs jobs, on any machine that reaches the database.

The lease of a worker ends with its connection: when a worker dies, another claims its jobs. The next writer removes or
finishes its partly written documents; nothing is done twice, because a document has at most one live holder. A
worker that loses its connections reconnects; if that fails for a while, it exits with an error for its supervisor.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from footnotes.errors import AddressRefused, FootnotesError, StoreUnavailable
from footnotes.server.batch import Batch, fail_worn_out
from footnotes.server.jobs import JobDocument, Jobs, ServerJob
from footnotes.server.metrics import CONTENT_TYPE, Metrics
from footnotes.server.postgres import WAITING, Lease, Listener, PostgresDatabase
from footnotes.server.spool import Spool
from footnotes.server.tasks import Report, Task, TaskEvent, TaskInterrupted, run_task
from footnotes.server.tenants import Tenants
from footnotes.server.workers import HEARTBEAT_SECONDS, Counts, Workers
from footnotes.settings import Settings
from footnotes.store.make import named

_LOG = logging.getLogger("footnotes.worker")
BATCH = 32
"""Jobs of one tenant to run together: small documents cost little more together than separately."""
POLL_SECONDS, CANCEL_SECONDS = 2.0, 1.0
"""How often a worker polls for jobs, and for the cancellation of a running one."""
FIRST_PAUSE_SECONDS = 0.5


def run(folder: Path, settings: Settings, concurrency: int, *, once: bool = False) -> None:
    """Work until stopped; with `once`, until no job is left."""
    worker = Worker(folder, replace(settings, quote_providers=False))
    _LOG.info("the worker starts", extra={"worker": worker.name, "concurrency": concurrency})
    host, port = settings.worker_host, settings.worker_port
    probes = Probes(host, port, worker.metrics, lambda: worker.failure) if port else None
    try:
        worker.sweep_spool()
        worker.run(concurrency, once=once)
    except FootnotesError as error:
        _LOG.error("the worker cannot work", extra={"code": error.code, "reason": error.message})
        raise
    finally:
        _LOG.info("the worker stops", extra={"worker": worker.name})
        if probes is not None:
            probes.close()
        worker.close()


class Worker:
    """Runs jobs of all tenants. `failure` is why it cannot work now, if it cannot."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.settings = settings = replace(settings, store=named(settings.store, f"footnotes worker {self.name}"))
        self.metrics = Metrics()
        self.failure: FootnotesError | None = None
        self._database = PostgresDatabase(settings.store, migrate=settings.migrate)
        self._jobs = Jobs(self._database, settings.serve_queue)
        self.tenants = Tenants(folder, settings, self._count_embedding)
        self.lease = Lease(self._database)
        self._workers, self._counts = Workers(self._database), Counts(self._database)
        self.spool = Spool(folder, settings, self._database)
        self._listener = Listener(self._database, lambda _: self._wake.set(), channel=WAITING)
        self._at: set[str] = set()
        self._guard = threading.Lock()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self.spool.open()
        self.heal()

    def close(self) -> None:
        for step in (self._counts.save, lambda: self._workers.forget(self.name), self.lease.close):
            try:
                step()
            except FootnotesError as error:  # the database is unreachable: missing heartbeats say the same
                _LOG.debug("the worker cannot take its leave", extra={"code": error.code})
        self.tenants.close()
        self._database.close()

    def heal(self) -> None:
        """Reopen lost connections and send a heartbeat. Raises if the database is away."""
        if self.lease.renew():
            _LOG.info("the worker holds a lease", extra={"worker": self.name, "lease": self.lease.number})
        self._counts.save()
        self._workers.beat(self.name, running=len(self._at))

    def sweep_spool(self) -> None:
        """Remove bytes that no job needs."""
        self.spool.sweep(self._jobs.spools())

    # ── at work

    def run(self, concurrency: int, *, once: bool) -> None:
        """Run jobs until stopped; raise if the worker could not reconnect for too long."""
        for name in (signal.SIGTERM, signal.SIGINT):
            with suppress(ValueError):  # not the main thread
                signal.signal(name, lambda *_: self._stop())
        self._listener.start()
        pool = ThreadPoolExecutor(concurrency, thread_name_prefix="footnotes-job")
        slots = [pool.submit(self._work, once) for _ in range(concurrency)]
        try:
            self._keep(lambda: all(slot.done() for slot in slots))
        finally:
            self._stop()
            pool.shutdown(wait=True, cancel_futures=True)
            self._listener.stop()
        for slot in slots:
            slot.result()

    def _stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    def _keep(self, is_done: Callable[[], bool]) -> None:
        """Heal at every heartbeat; raise if that fails for too long."""
        since: float | None = None
        while not (self._stopping.is_set() or is_done()):
            try:
                self.heal()
                if self.failure is not None:
                    _LOG.info("the worker works again", extra={"worker": self.name})
                self.failure, since = None, None
            except FootnotesError as error:
                if since is None:
                    since = time.monotonic()
                    _LOG.warning("the worker cannot work", extra={"code": error.code, "reason": error.message})
                self.failure = error
                if time.monotonic() - since >= self.settings.worker_heal_seconds:
                    raise
            pause = HEARTBEAT_SECONDS if self.failure is None else FIRST_PAUSE_SECONDS
            until = time.monotonic() + pause
            while time.monotonic() < until and not (is_done() or self._stopping.wait(min(0.2, pause))):
                pass

    def _work(self, once: bool) -> None:
        """Run one batch after another, in one thread."""
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                if self.work_once(self._stopping.is_set):
                    continue
                if once and self.failure is None and not self._at:
                    return
            except Exception as error:  # one failed batch does not end the thread; `_keep` decides when to give up
                _LOG.warning("jobs cannot be done", extra={"reason": str(error) or type(error).__name__})
                self._stopping.wait(FIRST_PAUSE_SECONDS)
                continue
            self._wake.wait(POLL_SECONDS)

    def work_once(self, must_stop: Callable[[], bool]) -> bool:
        """Claim jobs and run them; False if there are none."""
        with self._guard:
            if self.lease.is_lost:
                raise StoreUnavailable("the worker lost its connection to the database; it reconnects")
            number = self.lease.number
            claimed = self._jobs.claim(BATCH, holder=number, at=self._at)
            self._at.update(job.id for job in claimed)
        try:
            if todo := fail_worn_out(claimed, self._jobs, number):
                Batch(todo, self._jobs, self.spool, _Slot(self, self._jobs, must_stop)).run()
        finally:
            with self._guard:
                self._at.difference_update(job.id for job in claimed)
        return bool(claimed)

    # ── metrics

    def _count_embedding(self, texts: int, role: str, tokens: int) -> None:
        self.metrics.count_embedding(texts, role, tokens)
        for name, value in (("embedding_calls", 1), ("embedded_texts", texts), ("embedding_tokens", tokens)):
            self._counts.add(name, role, value)

    def count(self, job: ServerJob, rows: Sequence[JobDocument], state: str) -> None:
        for row in rows:
            self.metrics.count_document(row.status, row.chunks)
            self._counts.add("documents", row.status, 1)
            self._counts.add("chunks", "", row.chunks)
        self.metrics.jobs.labels(job.kind, state).inc()
        self._counts.add("jobs", f"{job.kind} {state}", 1)


class _Slot:
    """A worker as the holder of one batch."""

    tries_again = True

    def __init__(self, worker: Worker, jobs: Jobs, must_stop: Callable[[], bool]) -> None:
        self._worker, self._jobs, self._must_stop = worker, jobs, must_stop
        self.retry_seconds = worker.settings.worker_retry_seconds
        self._looked = time.monotonic()

    @property
    def number(self) -> int:
        return self._worker.lease.number

    @property
    def is_lost(self) -> bool:
        return self._worker.lease.is_lost

    def run(self, task: Task, report: Report) -> None:
        run_task(task, self._worker.tenants.using, self._worker.spool.folder, report)

    def on_event(self, event: TaskEvent, left: Mapping[str, ServerJob]) -> None:
        if event["type"] == "progress" and (self._must_stop() or self.is_lost or self._is_cancelled(left)):
            raise TaskInterrupted

    def on_end(self, job: ServerJob, rows: Sequence[JobDocument], state: str) -> None:
        self._worker.count(job, rows, state)

    def _is_cancelled(self, left: Mapping[str, ServerJob]) -> bool:
        if time.monotonic() - self._looked < CANCEL_SECONDS:
            return False
        self._looked = time.monotonic()
        return any(self._jobs.is_cancelled(job) for job in left.values())


# ── the HTTP probes of a worker: liveness, readiness and metrics ──────────────────────────────────────────────


class Probes:
    """Listens while a worker runs. `failure` returns why the worker cannot work now, if it cannot."""

    def __init__(self, host: str, port: int, metrics: Metrics, failure: Callable[[], FootnotesError | None]) -> None:
        self._metrics = metrics
        self._failure = failure
        try:
            self._server = ThreadingHTTPServer((host, port), self._handler())
        except OSError as error:
            raise AddressRefused(f"the worker cannot listen on {host}:{port} ({error.strerror})") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="footnotes-probes", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        if path == "/metrics":
            return 200, CONTENT_TYPE, self._metrics.text()
        if path == "/livez":
            return 200, "application/json", b'{"status": "ok"}'
        if path == "/readyz":
            return self._readiness()
        return 404, "application/json", b'{"error": {"code": "not_found"}}'

    def _readiness(self) -> tuple[int, str, bytes]:
        failure = self._failure()
        if failure is None:
            return 200, "application/json", b'{"status": "ready"}'
        reply = {"status": "not ready", "code": failure.code, "reason": failure.message}
        return 503, "application/json", json.dumps(reply).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        probes = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                status, kind, body = probes.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Probes come every few seconds: do not log them."""

        return Handler
