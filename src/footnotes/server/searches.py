"""Searches in separate processes, so one server uses several cores over one library.

The main process counts, streams and writes. A search process only reads: before each search it reads the latest
commits, like any process that opens the library.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from footnotes.errors import FootnotesError
from footnotes.library import Library
from footnotes.server.tenants import OnEmbed, Tenants
from footnotes.server.worker import end_with_parent
from footnotes.settings import Settings
from footnotes.tracing import REQUEST_ID
from footnotes.types import SearchResult

_LOG = logging.getLogger("footnotes.server")
STOP_SECONDS = 5.0
LOOK_SECONDS = 1.0
Reply = tuple[SearchResult | FootnotesError, list[tuple[int, str, int]]]
"""The result of a search or its error, and the number of embedded texts."""


class Searches:
    """Runs searches: in as many processes as the settings say, and in this one while none of them runs."""

    def __init__(self, folder: Path, settings: Settings, on_embed: OnEmbed) -> None:
        self._on_embed = on_embed
        self._idle: queue.SimpleQueue[SearchProcess] = queue.SimpleQueue()
        self._running: set[SearchProcess] = set()
        self._guard = threading.Lock()
        self._is_closed = False
        for _ in range(settings.serve_workers):
            self._start_behind(SearchProcess(folder, settings))

    def search(self, library: Library, tenant: str, options: Mapping[str, Any], *, here: bool = False) -> SearchResult:
        """Search the library of a tenant; `here` for searches that wait for a model and need no core.

        If a process ends during a search, it is restarted, and the search runs here.
        """
        process = None if here else self._take()
        if process is None:
            return library.search(**options)
        try:
            found, embedded = process.ask(tenant, options)
        except (EOFError, OSError):
            _LOG.warning("a search process ended", extra={"worker": process.pid})
            with self._guard:
                self._running.discard(process)
            self._start_behind(process)
            return library.search(**options)
        self._idle.put(process)
        for arguments in embedded:
            self._on_embed(*arguments)
        if isinstance(found, FootnotesError):
            raise found
        return found

    def _take(self) -> SearchProcess | None:
        """Wait for an idle process; return None if none runs."""
        while self._running:
            with suppress(queue.Empty):
                return self._idle.get(timeout=LOOK_SECONDS)
        return None

    def _start_behind(self, process: SearchProcess) -> None:
        threading.Thread(target=self._start, args=(process,), name="footnotes-searches", daemon=True).start()

    def _start(self, process: SearchProcess) -> None:
        """Start a process, and use it once it has opened its libraries."""
        try:
            process.start()
        except (EOFError, OSError) as error:
            _LOG.error("a search process cannot be started", extra={"reason": repr(error)})
            return
        with self._guard:
            if not self._is_closed:
                self._running.add(process)
                self._idle.put(process)
                return
        process.stop()

    @property
    def pids(self) -> list[int]:
        """Return the ids of running processes."""
        return sorted(process.pid for process in self._running)

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            running, self._running = self._running, set()
        for process in running:
            process.stop()


class SearchProcess:
    """One search process, and the pipe to it. One thread uses it at a time."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._given = folder, settings
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready. Raises `EOFError` if it ends before that."""
        self.stop()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, *self._given, os.getpid())
        self._process = context.Process(target=_serve, args=arguments, name="footnotes-search", daemon=True)
        self._process.start()
        theirs.close()  # the end of the process then closes the pipe
        self._pipe.recv()

    @property
    def pid(self) -> int:
        return (self._process.pid or 0) if self._process else 0

    def ask(self, tenant: str, options: Mapping[str, object]) -> Reply:
        """Raises `EOFError` or `OSError` if the process has ended."""
        assert self._pipe is not None
        self._pipe.send((tenant, REQUEST_ID.get(), dict(options)))
        reply: Reply = self._pipe.recv()
        return reply

    def stop(self) -> None:
        if self._process is None or self._pipe is None:
            return
        self._pipe.close()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None


# ── in the process


def _serve(pipe: Connection, folder: Path, settings: Settings, parent: int) -> None:
    """Search until the server closes the pipe or ends."""
    from footnotes.server.logs import set_up_logs

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes the pipe
    end_with_parent(parent)
    set_up_logs(settings.serve_log_level)
    embedded: list[tuple[int, str, int]] = []
    tenants = Tenants(folder, settings, lambda *counts: embedded.append(counts))
    try:
        pipe.send(os.getpid())
        while True:
            tenant, request_id, options = pipe.recv()
            REQUEST_ID.set(request_id)
            embedded.clear()
            pipe.send((_search(tenants, tenant, options), list(embedded)))
    except (EOFError, OSError):
        pass
    finally:
        tenants.close()


def _search(tenants: Tenants, tenant: str, options: dict[str, Any]) -> SearchResult | FootnotesError:
    try:
        with tenants.using(tenant) as library:
            return library.search(**options)
    except FootnotesError as error:
        return error
