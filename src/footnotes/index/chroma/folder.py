"""Chroma embedded in this process, in a folder that several processes may use.

Chroma 1.5 keeps a collection's graph in the memory of each process that opened it, and never checks whether another
process wrote. Searches then miss new chunks, and two writers overwrite each other's graphs, which loses vectors for
good. A lock beside the files prevents both: many processes may read or one may write, and a process that finds
another's write reopens the files. Within a process, threads share one client, and may search while one of them writes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from footnotes.errors import IndexUnavailable
from footnotes.index.chroma.errors import translated
from footnotes.index.chroma.settings import Endpoint

_FILE, _SAVED = "chroma.sqlite3", "index_metadata.pickle"
_SHARED_SECONDS = 0.05
"""After this time no more readers may join: otherwise many readers would starve a writer."""
_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class FolderConnection:
    """The folder's client, lent under the folder's lock."""

    def __init__(self, endpoint: Endpoint) -> None:
        assert endpoint.folder is not None
        self._endpoint = endpoint
        self._folder = endpoint.folder
        self._client: Any = None
        self._system: Any = None
        self._loaded: set[str] = set()
        """Collections whose graph is in memory. Loading one may write, so it needs the folder exclusively."""
        self._seen = b""
        """The note in the lock when this process last released the folder."""
        self._lock = FolderLock(endpoint.folder, endpoint.shown, endpoint.seconds)
        self._users = self._writers = self._waiting = 0
        self._turn = threading.Condition()
        self._loading = threading.Lock()

    @contextmanager
    def reading(self, name: str) -> Iterator[object]:
        """Lend the client while no other process writes. `name` is the collection to use."""
        with self._lend(name, write=False) as client, translated(self._endpoint.shown):
            yield client

    @contextmanager
    def writing(self, name: str) -> Iterator[object]:
        """Lend the client while no other process reads or writes."""
        with self._lend(name, write=True) as client, translated(self._endpoint.shown):
            yield client

    @contextmanager
    def alone(self, name: str) -> Iterator[object]:
        """Lend the client to one thread, with no other thread or process using it. For short operations."""
        with self._alone(), translated(self._endpoint.shown):
            yield self._client

    def close(self) -> None:
        with self._turn:
            while self._users:
                self._turn.wait()
            self._stop()
            self._lock.close()

    def sweep(self) -> bool:
        """Purge deleted data from the files: free pages of SQLite, and graphs of deleted collections.

        Chroma leaves both behind. Graphs that it has not saved yet are deleted too: it rebuilds them from the log, and
        until then their files contain arbitrary memory of this process. All other users wait meanwhile.
        """
        with self._alone(), translated(self._endpoint.shown):
            self._stop()
            if not (self._folder / _FILE).exists():
                return True
            with closing(sqlite3.connect(self._folder / _FILE, isolation_level=None)) as database:
                database.execute("VACUUM")
                living = {row[0] for row in database.execute("SELECT id FROM segments")}
            for path in self._folder.iterdir():
                if _SEGMENT.fullmatch(path.name) and not (path.name in living and (path / _SAVED).exists()):
                    shutil.rmtree(path)
        return True

    # ── locking

    @contextmanager
    def _lend(self, name: str, *, write: bool) -> Iterator[object]:
        turn = self._enter(name, write)
        try:
            with self._loading:
                if name not in self._loaded:
                    self._load(name)
            yield self._client
        finally:
            self._leave(turn)

    def _enter(self, name: str, write: bool) -> bool:
        """Wait for the folder. Return whether the turn may write: a reader that must reopen files gets such a turn."""
        with self._turn:
            while self._lock.mode != FREE and not self._may_join(name, write):
                self._waiting += 1
                try:
                    self._turn.wait()
                finally:
                    self._waiting -= 1
            turn = self._acquire(name, write) if self._lock.mode == FREE else write
            if write:
                self._lock.note()
            self._users += 1
            self._writers += turn
            return turn

    def _may_join(self, name: str, write: bool) -> bool:
        if self._lock.mode == EXCLUSIVE:
            return self._writers > 0
        if write or self._waiting or name not in self._loaded:
            return False
        return time.monotonic() - self._lock.since < _SHARED_SECONDS

    def _leave(self, write: bool) -> None:
        with self._turn:
            self._users -= 1
            self._writers -= write
            if not self._users:
                self._release()
                self._turn.notify_all()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._turn:
            while self._lock.mode != FREE:
                self._turn.wait()
            self._lock.acquire(EXCLUSIVE)
            try:
                if not self._is_current():
                    self._open()
                self._lock.note()
                yield
            finally:
                self._release()
                self._turn.notify_all()

    def _acquire(self, name: str, write: bool) -> bool:
        """Lock the folder against other processes; reopen it if one of them wrote."""
        self._lock.acquire(EXCLUSIVE if write else SHARED)
        try:
            if not write and not (self._is_current() and name in self._loaded):
                write = True
                self._lock.acquire(EXCLUSIVE)
            if not self._is_current():
                self._open()
        except BaseException:
            self._release()
            raise
        return write

    def _release(self) -> None:
        if self._lock.mode == EXCLUSIVE:
            self._seen = self._lock.read_note()
        self._lock.release()

    def _is_current(self) -> bool:
        return self._client is not None and self._seen == self._lock.read_note()

    # ── the client

    def _open(self) -> None:
        self._stop()
        with translated(self._endpoint.shown):
            self._system, self._client = _client(self._folder)

    def _stop(self) -> None:
        system, self._system, self._client = self._system, None, None
        self._loaded.clear()
        if system is not None:
            system.stop()

    def _load(self, name: str) -> None:
        """Load a collection. On the first call Chroma adds entries of its log to the graph, and may save it."""
        from chromadb.errors import NotFoundError

        options = self._endpoint.options
        where = {"tenant": options.tenant, "database": options.database}
        with translated(self._endpoint.shown):
            try:
                self._client._count(self._client.get_collection(name, **where).id, **where)
            except NotFoundError:
                return
        self._loaded.add(name)


def _client(folder: Path) -> tuple[object, object]:
    """Open Chroma without its registry of open folders, which would never release this one."""
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    make: Any = Settings  # ignore a file .env in the working directory
    settings = make(
        _env_file=None,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        is_persistent=True,
        persist_directory=str(folder),
        anonymized_telemetry=False,
    )
    system = System(settings)
    interface: Any = ServerAPI
    client = system.instance(interface)
    system.start()
    return system, client


# ── the lock between processes that use one Chroma folder: many readers or one writer ─────────────────────────


LOCK, GATE = "footnotes.lock", "footnotes.gate"
FREE, SHARED, EXCLUSIVE = fcntl.LOCK_UN, fcntl.LOCK_SH, fcntl.LOCK_EX
_POLL_SECONDS = 0.005
_NOTE_BYTES = 16


class FolderLock:
    """Held by a process for any number of its threads; used by one thread at a time.

    A waiting process holds a gate that all must pass, so later readers do not overtake a writer. The lock file contains
    a note that changes with every write.
    """

    def __init__(self, folder: Path, shown: str, seconds: float) -> None:
        self._folder, self._shown, self._seconds = folder, shown, seconds
        self._lock = self._gate = -1
        self.mode = FREE
        self.since = 0.0
        """The time of the last acquisition."""

    def acquire(self, mode: int) -> None:
        """Acquire the lock, or change its mode, which releases it for a moment."""
        self._open()
        self.release()
        deadline = time.monotonic() + self._seconds
        self._take(self._gate, mode, deadline)
        try:
            self._take(self._lock, mode, deadline)
        finally:
            fcntl.flock(self._gate, FREE)
        self.mode, self.since = mode, time.monotonic()

    def release(self) -> None:
        if self.mode != FREE:
            fcntl.flock(self._lock, FREE)
            self.mode = FREE

    def note(self) -> None:
        """Record that a write begins. It is recorded before the write, because a writer may die in the middle."""
        os.pwrite(self._lock, os.urandom(_NOTE_BYTES), 0)

    def read_note(self) -> bytes:
        """Return the last writer's note and the identity of the database file."""
        try:
            number = str((self._folder / _FILE).stat().st_ino)
        except OSError:
            number = ""
        return os.pread(self._lock, _NOTE_BYTES, 0) + number.encode()

    def close(self) -> None:
        for file in (self._lock, self._gate):
            if file >= 0:
                os.close(file)
        self._lock = self._gate = -1

    def _open(self) -> None:
        if self._lock >= 0:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._gate = os.open(self._folder / GATE, flags, 0o600)
            self._lock = os.open(self._folder / LOCK, flags, 0o600)
        except OSError as error:
            self.close()
            raise IndexUnavailable(f"{self._shown} cannot be opened ({error.strerror})") from error

    def _take(self, file: int, mode: int, deadline: float) -> None:
        while True:
            try:
                return fcntl.flock(file, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise IndexUnavailable(
                        f"{self._shown} is in use by another process",
                        remedy="Wait for it; for many processes run `chroma run` and name the server in `index`.",
                    ) from None
                time.sleep(_POLL_SECONDS)
