"""A process of its own for taking documents in, so that searches have the server's to themselves.

`WorkerProcess` is the near side, `main` the far side (`python -m footnotes.serve.worker`). Lines of JSON pass between
them: the settings and tasks in, news out. The far side runs at low priority, leaves a core to the searches, breaks off
when it is told to and when the near side is gone, and ends when it has had nothing to do for a while. If it dies, the
near side says so and the next task starts another.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from footnotes.config import Settings, settings_from
from footnotes.errors import WorkerDied
from footnotes.serve.doing import BrokenOff, News, Task, do
from footnotes.serve.parent import end_with_parent

_LOG = logging.getLogger("footnotes.serve")
LOOK_SECONDS = 0.1
IDLE_SECONDS = 120.0
STOP_SECONDS = 15.0
NICENESS = 10


class WorkerProcess:
    """The near side. Used by one thread; `stop` may be called by another."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: _Lines | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def do(self, task: Task, heard: Callable[[News], None], must_break_off: Callable[[], bool]) -> None:
        """Have a task done; `heard` gets the news. Raises `WorkerDied` when there will be none any more."""
        try:
            self._send({"task": asdict(task)})
            begun = self._listen(heard, must_break_off)
        except OSError:
            begun = False
        except (
            BaseException
        ):  # whoever hears broke off: what is still to be heard must not be taken for the next task's
            self.stop()
            raise
        if not begun:  # it had ended for want of work just when the task came
            self.stop()
            self._send({"task": asdict(task)})
            if not self._listen(heard, must_break_off):
                self.stop()
                raise WorkerDied("the process that takes documents in does not start")

    def _listen(self, heard: Callable[[News], None], must_break_off: Callable[[], bool]) -> bool:
        """Pass news on until the task has ended. False when it did not even begin."""
        assert self._lines is not None
        begun = told = False
        while True:
            if not told and begun and must_break_off():
                told = True
                self._send({"break": True})
            for news in self._lines.read(LOOK_SECONDS):
                if news is None:
                    if begun:
                        raise WorkerDied(f"the process that takes documents in ended ({self._ending()})")
                    return False
                begun = True
                heard(news)
                if news["news"] == "ended":
                    return True

    def _send(self, message: Any) -> None:
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(  # noqa: S603 (our own module in our own interpreter)
            [sys.executable, "-m", "footnotes.serve.worker", str(self._folder.absolute()), str(os.getpid())],
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

    def _ending(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self.stop()
        return f"signal {-code}" if code < 0 else f"status {code}"

    def stop(self) -> None:
        """End the process: in order, and after a while in any case."""
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
        """What came within some time; None at the end of the pipe."""
        if not self._selector.select(seconds):
            return []
        block = os.read(self._file, 1 << 16)
        *lines, self._rest = (self._rest + block).split(b"\n")
        return [json.loads(line) for line in lines] if block else [None]


# ── the far side


def main(folder: Path, parent: int) -> None:
    """Do tasks until the near side closes the pipe, or for want of any."""
    from footnotes.serve.intake import SPOOL
    from footnotes.serve.logs import set_up_logs
    from footnotes.serve.tenants import Tenants

    end_with_parent(parent)
    with suppress(OSError):
        os.nice(NICENESS)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints must not stand between the news
    first = json.loads(sys.stdin.readline())
    settings = for_worker(settings_from(first["settings"]))
    set_up_logs(settings.serve_log_level)
    orders = _Orders(sys.stdin)

    def tell(news: News) -> None:
        if news["news"] == "progress" and orders.broken_off:
            raise BrokenOff
        out.write(json.dumps(news) + "\n")
        out.flush()

    tenants = Tenants(
        folder,
        settings,
        lambda texts, role, tokens: tell({"news": "embedded", "texts": texts, "role": role, "tokens": tokens}),
        most=2,
    )
    try:
        while (task := orders.next(IDLE_SECONDS)) is not None:
            tell({"news": "begun"})
            do(task, tenants.using, folder / SPOOL, tell)
        if not orders.gone:
            tenants.settle()
    except BrokenPipeError:
        pass
    finally:
        tenants.close()


class _Orders:
    """What the near side asks for, read in a thread: an order to break off overtakes the task it is about."""

    def __init__(self, pipe: IO[str]) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._breaking = threading.Event()
        self.gone = False
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    @property
    def broken_off(self) -> bool:
        return self._breaking.is_set()

    def next(self, seconds: float) -> Task | None:
        """The next task; nothing when none came for so long, or none will come."""
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


def for_worker(settings: Settings) -> Settings:
    """The settings with as many threads as leave the searches a core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = settings.serve_worker_threads or settings.embedder_threads or max(cores - 1, 1)
    return replace(settings, embedder_threads=threads)


def for_searches(settings: Settings) -> Settings:
    """The settings with one thread to embed questions: several at once are then done faster than one after another."""
    alone = settings.serve_worker and not settings.embedder_threads
    return replace(settings, embedder_threads=1) if alone else settings


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
