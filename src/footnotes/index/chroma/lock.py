"""The lock between processes that use one Chroma folder: many readers or one writer."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from footnotes.errors import IndexUnavailable

LOCK, GATE = "footnotes.lock", "footnotes.gate"
FREE, SHARED, EXCLUSIVE = fcntl.LOCK_UN, fcntl.LOCK_SH, fcntl.LOCK_EX
_FILE = "chroma.sqlite3"
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
