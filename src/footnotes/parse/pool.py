"""A pool of parser processes."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator

from footnotes.parse import Source
from footnotes.parse.limits import Limits
from footnotes.parse.worker import Worker
from footnotes.types import Part, Report

DOCUMENTS_A_WORKER = 200
"""A worker is replaced after this many documents, because native libraries leak memory."""
MOST_IDLE = 2


class Pool:
    """Lends workers, and keeps a few healthy ones for reuse."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def parse(self, parser: str, source: Source, limits: Limits) -> Iterator[Part | Report]:
        """Parse one document in a worker. A worker that fails takes only this document with it."""
        worker = self._take(limits.memory_bytes)
        try:
            yield from worker.parse(parser, source, limits)
        finally:
            self._release(worker)

    def _take(self, memory_bytes: int) -> Worker:
        with self._lock:
            for worker in [each for each in self._idle if each.memory_bytes == memory_bytes]:
                self._idle.remove(worker)
                if worker.owner != os.getpid():  # after a fork the pipes belong to the parent
                    continue
                if worker.alive:
                    return worker
                worker.close()
        return Worker(memory_bytes)

    def _release(self, worker: Worker) -> None:
        with self._lock:
            if worker.usable and worker.documents < DOCUMENTS_A_WORKER and len(self._idle) < MOST_IDLE:
                self._idle.append(worker)
                return
        worker.close()

    def close(self) -> None:
        """End all idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            if worker.owner == os.getpid():
                worker.close()


POOL = Pool()
atexit.register(POOL.close)
