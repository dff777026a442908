"""A Chroma embedded in this process, in a folder that several processes may use.

Chroma 1.5 keeps a collection's graph in the memory of each process that opened it. It never looks whether another one
wrote: searches then miss what came since, and two that write put their graphs over each other's, which loses vectors
for good. A lock beside the files prevents both: many may read, one may write, and who finds that another process wrote
opens the files again. Within a process, threads share one client, and search while one of them writes.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from footnotes.index.chroma.errors import translated
from footnotes.index.chroma.lock import EXCLUSIVE, FREE, SHARED, FolderLock
from footnotes.index.chroma.settings import Endpoint

_FILE, _SAVED = "chroma.sqlite3", "index_metadata.pickle"
_SHARED_SECONDS = 0.05
"""After so long nobody joins those who read: where they are many, one who wants to write would wait for ever."""
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
        """Collections whose graph is in memory; loading one may write, and wants the folder for itself."""
        self._seen = b""
        """What was noted in the lock when this process had the folder last."""
        self._lock = FolderLock(endpoint.folder, endpoint.shown, endpoint.seconds)
        self._users = self._writers = self._waiting = 0
        self._turn = threading.Condition()
        self._loading = threading.Lock()

    @contextmanager
    def reading(self, name: str) -> Iterator[object]:
        """The client, while no other process writes. `name` is the collection that is meant."""
        with self._lent(name, write=False) as client, translated(self._endpoint.shown):
            yield client

    @contextmanager
    def writing(self, name: str) -> Iterator[object]:
        """The client, while no other process reads or writes."""
        with self._lent(name, write=True) as client, translated(self._endpoint.shown):
            yield client

    @contextmanager
    def alone(self, name: str) -> Iterator[object]:
        """The client, while nobody else has it, not even a thread of this process. For what takes no time."""
        with self._alone(), translated(self._endpoint.shown):
            yield self._client

    def close(self) -> None:
        with self._turn:
            while self._users:
                self._turn.wait()
            self._stop()
            self._lock.close()

    def sweep(self) -> bool:
        """Take what was removed out of the files: free pages of SQLite, and graphs of collections that are gone.

        Chroma leaves both behind. A graph that it has not saved yet goes too: it is made again from the log, and what
        its files hold until then is memory of this process as it happened to be. Everybody waits meanwhile.
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

    # ── taking turns

    @contextmanager
    def _lent(self, name: str, *, write: bool) -> Iterator[object]:
        turn = self._enter(name, write)
        try:
            with self._loading:
                if name not in self._loaded:
                    self._load(name)
            yield self._client
        finally:
            self._leave(turn)

    def _enter(self, name: str, write: bool) -> bool:
        """Wait for the turn; tells whether it is one that may write, which a reader gets where files must be opened."""
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
        """Get the folder from the other processes; what one of them wrote is opened again."""
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
            self._seen = self._lock.noted()
        self._lock.release()

    def _is_current(self) -> bool:
        return self._client is not None and self._seen == self._lock.noted()

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
        """Chroma takes what its log has beyond a graph into it at the first call, and may save it then."""
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
    """Chroma in this process, and not shared: its own registry of open folders would not let go of one."""
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    make: Any = Settings  # a file .env beside a program is none of our settings
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
