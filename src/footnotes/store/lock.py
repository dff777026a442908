"""A lock for one writer at a time: a lock file that names its holder; the system releases it if the holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from footnotes.errors import StoreLocked, StoreUnavailable

_POLL_SECONDS = 0.05


class FileLock:
    """An exclusive lock between processes, and between threads of this one. The holder may acquire it again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.RLock()
        self._depth = 0
        self._file: int | None = None

    @contextmanager
    def held(self, *, seconds: float, purpose: str) -> Iterator[None]:
        """Hold the lock. Waits up to `seconds`, then raises `StoreLocked` with the holder's name."""
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=max(seconds, 0) or 0.001):
            raise StoreLocked(f"another thread of this process is writing ({self.holder()})")
        try:
            if self._depth == 0:
                self._file = self._acquire(deadline, purpose)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._release()
        finally:
            self._threads.release()

    @property
    def depth(self) -> int:
        """How often the holder has acquired it."""
        return self._depth

    def holder(self) -> str:
        """The last name in the lock file."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return f"process {found['pid']}, {found['purpose']}, since {found['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "an unknown process"

    def _acquire(self, deadline: float, purpose: str) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnavailable(f"the lock file cannot be opened ({error.strerror})") from error
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(file)
                    raise StoreLocked(f"another process holds the library: {self.holder()}") from None
                time.sleep(_POLL_SECONDS)
        self._sign(file, purpose)
        return file

    def _release(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    @staticmethod
    def _sign(file: int, purpose: str) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        who = {"pid": os.getpid(), "purpose": purpose, "since": since, "program": Path(sys.argv[0]).name}
        with suppress(OSError):  # on a full disk the lock works, but without a name
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(who).encode(), 0)
