"""A worker that a server starts for itself, so that one command is enough where one machine is."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from pathlib import Path

from footnotes.config import Settings
from footnotes.serve.parent import end_with_parent

_LOG = logging.getLogger("footnotes.serve")
STOP_SECONDS, LOOKED_AFTER_SECONDS = 30.0, 2.0
CONCURRENCY = 2


class OwnWorker:
    """A process that works, and is started again when it dies."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._arguments = (folder, settings, CONCURRENCY, os.getpid())
        self._stop = threading.Event()
        self._process = self._started()
        self._thread = threading.Thread(target=self._look_after, name="footnotes-own-worker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._process.terminate()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _started(self) -> multiprocessing.process.BaseProcess:
        process = multiprocessing.get_context("spawn").Process(target=_work, args=self._arguments, daemon=False)
        process.start()
        return process

    def _look_after(self) -> None:
        while not self._stop.wait(LOOKED_AFTER_SECONDS):
            if not self._process.is_alive():
                _LOG.error("the worker died and is started again", extra={"exit_code": self._process.exitcode})
                self._process = self._started()


def _work(folder: Path, settings: Settings, concurrency: int, parent: int) -> None:
    from footnotes.serve.logs import set_up_logs
    from footnotes.serve.shared.running import run

    end_with_parent(parent)
    os.nice(10)  # searches come first
    set_up_logs(settings.serve_log_level)
    run(folder, settings, concurrency)
