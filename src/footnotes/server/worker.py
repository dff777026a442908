"""A separate process that ingests documents, so searches have the server's process to themselves.

`WorkerProcess` is the server's side, `main` the worker's (`python -m footnotes.server.worker`). They exchange lines of
JSON: settings and tasks in, events out. The worker runs at low priority, leaves a core to searches, stops on request
or when the server is gone, and ends after a while without work. If it dies, the next task starts another.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from footnotes.errors import WorkerDied
from footnotes.server.tasks import Task, TaskEvent, TaskInterrupted, run_task
from footnotes.settings import Settings, settings_from

_LOG = logging.getLogger("footnotes.server")
LOOK_SECONDS = 0.1
IDLE_SECONDS = 120.0
STOP_SECONDS = 15.0
PARENT_SECONDS, GRACE_SECONDS = 0.5, 3.0
NICENESS = 10


class WorkerProcess:
    """The server's side. Used by one thread; another thread may call `stop`."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: _Lines | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def run(self, task: Task, on_event: Callable[[TaskEvent], None], must_interrupt: Callable[[], bool]) -> None:
        """Run a task in the process; pass its events to `on_event`. Raises `WorkerDied` if the process dies."""
        try:
            self._send({"task": asdict(task)})
            has_begun = self._listen(on_event, must_interrupt)
        except OSError:
            has_begun = False
        except BaseException:  # the caller stopped early: the next task must not read the remaining events of this one
            self.stop()
            raise
        if not has_begun:  # the process had just ended, idle
            self.stop()
            self._send({"task": asdict(task)})
            if not self._listen(on_event, must_interrupt):
                self.stop()
                raise WorkerDied("the ingest process does not start")

    def _listen(self, on_event: Callable[[TaskEvent], None], must_interrupt: Callable[[], bool]) -> bool:
        """Pass events on until the task has ended. False if it did not begin."""
        assert self._lines is not None
        has_begun = has_asked = False
        while True:
            if not has_asked and has_begun and must_interrupt():
                has_asked = True
                self._send({"break": True})
            for event in self._lines.read(LOOK_SECONDS):
                if event is None:
                    if has_begun:
                        raise WorkerDied(f"the ingest process ended ({self._describe_exit()})")
                    return False
                has_begun = True
                on_event(event)
                if event["type"] == "ended":
                    return True

    def _send(self, message: object) -> None:
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(  # noqa: S603 (our own module in our own interpreter)
            [sys.executable, "-m", "footnotes.server.worker", str(self._folder.absolute()), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
            # Ctrl-C is for the server, which then lets this one end in order. No session of its own: Linux shares
            # processors out by session first, and being nice would count for nothing.
            process_group=0,
        )
        assert self._process.stdout is not None
        self._lines = _Lines(self._process.stdout)
        self._send({"settings": asdict(self._settings)})
        return self._process

    def _describe_exit(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self.stop()
        return f"signal {-code}" if code < 0 else f"status {code}"

    def stop(self) -> None:
        """End the process: in order, or by force after a while."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


class _Lines:
    """Lines of JSON from a pipe, as they come."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._file = pipe.fileno()
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(pipe, selectors.EVENT_READ)

    def read(self, seconds: float) -> list[Any]:
        """Read the lines that arrive within some time; `[None]` at the end of the pipe."""
        if not self._selector.select(seconds):
            return []
        block = os.read(self._file, 1 << 16)
        *lines, self._rest = (self._rest + block).split(b"\n")
        return [json.loads(line) for line in lines] if block else [None]


# ── the worker's side


def main(folder: Path, parent: int) -> None:
    """Run tasks until the server closes the pipe, or none comes for a while."""
    from footnotes.server.logs import set_up_logs
    from footnotes.server.spool import SPOOL
    from footnotes.server.tenants import Tenants

    end_with_parent(parent)
    with suppress(OSError):
        os.nice(NICENESS)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not mix with the events
    first = json.loads(sys.stdin.readline())
    settings = worker_settings(settings_from(first["settings"]))
    set_up_logs(settings.serve_log_level)
    orders = _Orders(sys.stdin)

    def report(event: TaskEvent) -> None:
        if event["type"] == "progress" and orders.is_interrupted:
            raise TaskInterrupted
        out.write(json.dumps(event) + "\n")
        out.flush()

    tenants = Tenants(
        folder,
        settings,
        lambda texts, role, tokens: report({"type": "embedded", "texts": texts, "role": role, "tokens": tokens}),
        most=2,
    )
    try:
        while (task := orders.next(IDLE_SECONDS)) is not None:
            report({"type": "begun"})
            run_task(task, tenants.using, folder / SPOOL, report)
        if not orders.gone:
            tenants.settle()
    except BrokenPipeError:
        pass
    finally:
        tenants.close()


class _Orders:
    """Reads the server's orders in a thread: an interruption overtakes the task that it is about."""

    def __init__(self, pipe: IO[str]) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._breaking = threading.Event()
        self.gone = False
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    @property
    def is_interrupted(self) -> bool:
        return self._breaking.is_set()

    def next(self, seconds: float) -> Task | None:
        """Return the next task; None if none arrived in time, or none will arrive."""
        try:
            return self._tasks.get(timeout=seconds)
        except queue.Empty:
            return None

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            order = json.loads(line)
            if "task" in order:
                self._breaking.clear()
                self._tasks.put(Task(**order["task"]))
            else:
                self._breaking.set()
        self.gone = True
        self._breaking.set()
        self._tasks.put(None)


def worker_settings(settings: Settings) -> Settings:
    """Settings for the worker: threads that leave a core to the searches."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = settings.serve_worker_threads or settings.embedder_threads or max(cores - 1, 1)
    return replace(settings, embedder_threads=threads)


def search_settings(settings: Settings) -> Settings:
    """Settings for searches: one thread for each question, to embed several questions at once."""
    alone = settings.serve_worker and not settings.embedder_threads
    return replace(settings, embedder_threads=1) if alone else settings


def end_with_parent(parent: int) -> None:
    """End this process soon after its parent, even if the parent is killed: cleanly if that is quick, else at once.

    No work is lost: the next start continues it.
    """
    threading.Thread(target=_watch_parent, args=(parent,), name="footnotes-parent", daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
