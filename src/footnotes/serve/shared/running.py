"""Keeps a worker at work: its queue is opened again when it breaks off, its lease is held, its heart beats.

Where that does not succeed for a while the worker ends with an error, and whoever started it sees that.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from footnotes.config import Settings
from footnotes.errors import FootnotesError, StoreUnavailable
from footnotes.serve.metrics import Metrics
from footnotes.serve.shared.probes import Probes
from footnotes.serve.shared.queue import QUEUE, TASK, make_app
from footnotes.serve.shared.worker import TryLater, Worker
from footnotes.serve.shared.workers import HEARTBEAT_SECONDS, STALLED_SECONDS

_LOG = logging.getLogger("footnotes.worker")
SWEPT_EVERY_SECONDS = 5.0
STOP_SECONDS = 20.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 10.0


def run(folder: Path, settings: Settings, concurrency: int, *, once: bool = False) -> None:
    """Work until told to stop; with `once`, until the queue is empty."""
    worker = Worker(folder, replace(settings, quote_providers=False))
    _LOG.info("the worker starts", extra={"worker": worker.name, "concurrency": concurrency})
    running = Running(worker, concurrency, once)
    probes = _probes(running, settings)
    try:
        worker.sweep_spool()
        asyncio.run(running.run())
    except FootnotesError as error:
        _LOG.error("the worker cannot work", extra={"code": error.code, "reason": error.message})
        raise
    finally:
        _LOG.info("the worker stops", extra={"worker": worker.name})
        if probes is not None:
            probes.close()
        worker.close()


def _probes(running: Running, settings: Settings) -> Probes | None:
    if not settings.worker_port:
        return None
    return Probes(settings.worker_host, settings.worker_port, running.metrics, lambda: running.failure)


class Running:
    """A worker at work. `failure` is why it cannot work now, if it cannot."""

    def __init__(self, worker: Worker, concurrency: int, once: bool) -> None:
        self.failure: FootnotesError | None = None
        self._worker = worker
        self._settings = worker.settings
        self._concurrency = concurrency
        self._once = once
        self._stopping = asyncio.Event()

    @property
    def metrics(self) -> Metrics:
        return self._worker.metrics

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            with suppress(ValueError, NotImplementedError, RuntimeError):  # not the main thread
                loop.add_signal_handler(name, self._stopping.set)
        keeping = asyncio.create_task(self._keep())
        working = asyncio.create_task(self._work())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([keeping, working, stopping], return_when=asyncio.FIRST_COMPLETED)
        self._stopping.set()
        for task in (working, keeping, stopping):
            task.cancel()
        ended = await asyncio.gather(working, keeping, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error

    # ── the heart

    async def _keep(self) -> None:
        """Heal what is lost, again and again; raise when that has not succeeded for too long."""
        since: float | None = None
        while True:
            try:
                await asyncio.to_thread(self._worker.heal)
                if self.failure is not None:
                    _LOG.info("the worker works again", extra={"worker": self._worker.name})
                self.failure, since = None, None
            except FootnotesError as error:
                if since is None:
                    since = time.monotonic()
                    _LOG.warning("the worker cannot work", extra={"code": error.code, "reason": error.message})
                self.failure = error
                if time.monotonic() - since >= self._settings.worker_heal_seconds:
                    raise
            await asyncio.sleep(HEARTBEAT_SECONDS if self.failure is None else FIRST_PAUSE_SECONDS)

    # ── the queue

    async def _work(self) -> None:
        """Work through the queue; where it breaks off, open it again after a pause that grows."""
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                await self._session()
                if self._once:
                    return
                _LOG.warning("the queue broke off and is opened again")
            except Exception as error:  # of whatever driver: `_keep` decides when it is too much
                _LOG.warning("the queue broke off and is opened again", extra={"reason": type(error).__name__})
                if self._once and self.failure is None and not _is_passing(error):
                    raise StoreUnavailable(f"the queue cannot be read ({type(error).__name__})") from error
            pause = FIRST_PAUSE_SECONDS if time.monotonic() - began > LONGEST_PAUSE_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _session(self) -> None:
        app = make_app(self._settings.store, waiting=False)

        @app.task(name=TASK, queue=QUEUE, retry=_retries(self._settings), pass_context=True)  # type: ignore[untyped-decorator,unused-ignore]
        async def take_in(context: Any, job_id: str) -> None:
            def must_stop() -> bool:
                return self._stopping.is_set() or bool(context.should_abort())

            await asyncio.to_thread(self._worker.do, job_id, context.job.attempts + 1, must_stop)

        async with app.open_async():
            sweeping = asyncio.create_task(self._sweep(app))
            try:
                await app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=self._concurrency,
                    wait=not self._once,
                    delete_jobs="successful",
                    install_signal_handlers=False,
                    update_heartbeat_interval=HEARTBEAT_SECONDS,
                    stalled_worker_timeout=STALLED_SECONDS,
                    shutdown_graceful_timeout=STOP_SECONDS,
                    fetch_job_polling_interval=2.0,
                )
            finally:
                sweeping.cancel()
                with suppress(asyncio.CancelledError):
                    await sweeping

    async def _sweep(self, app: Any) -> None:
        """See to what dead workers left, again and again. Every worker does: it is harmless twice."""
        while True:
            try:
                for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS, queue=QUEUE):
                    await app.job_manager.retry_job(job)
                    _LOG.warning("a job of a worker that died is taken over", extra={"job": job.task_kwargs["job_id"]})
                for job_id in await asyncio.to_thread(self._worker.forgotten):
                    token = await app.configure_task(name=TASK, queue=QUEUE).defer_async(job_id=job_id)
                    await asyncio.to_thread(self._worker.queued_as, job_id, token)
            except FootnotesError as error:
                _LOG.warning("dead workers cannot be looked for", extra={"code": error.code, "reason": error.message})
            except Exception as error:  # the queue's own errors: the next round tries again
                _LOG.warning("dead workers cannot be looked for", extra={"reason": type(error).__name__})
            await asyncio.sleep(SWEPT_EVERY_SECONDS)


def _is_passing(error: Exception) -> bool:
    import procrastinate.exceptions as known

    return isinstance(error, known.ConnectorException)


def _retries(settings: Settings) -> Any:
    """Attempts with growing delays. The worker itself says which attempt is the last."""
    import procrastinate

    class Growing(procrastinate.BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Any) -> Any:
            if not isinstance(exception, TryLater):
                return None
            return procrastinate.RetryDecision(
                retry_in={"seconds": settings.worker_retry_seconds * 2 ** min(job.attempts, 10)}
            )

    return Growing()
