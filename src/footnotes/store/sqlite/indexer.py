"""A second process that updates the lexical index while this one reads and writes the next documents.

Analysing text needs a processor, and Python uses one per process. `Indexer` is the near side, `main` the far side
(`python -m footnotes.store.sqlite.indexer FOLDER`). They exchange only numbers: the far side reads the change log like
any other process, under the same lock, and follows it until told to finish, or for as long as it has worked before.
If it dies, the near side does the work itself.
"""

from __future__ import annotations

import gc
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from footnotes.store.records import Generation

_FINISH = b"finish\n"
_FOLLOWED_SECONDS = 4.0
"""The longest time until a commit, unless it has worked longer than that before: so commits are few."""
_LOOK_SECONDS = 0.02
_OBJECTS = 50_000
"""Objects in a batch: none of them is garbage before it is applied."""


class Indexer:
    """The process, started by the first request; handles one request at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.busy = False

    def ask(self, generation: Generation) -> bool:
        """Request an update of the lexical index. Return False if the process does not work."""
        try:
            process = self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps([generation.user_id, generation.pk]).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self.close()
            return False
        self.busy = True
        return True

    def answered(self, *, wait: bool) -> bool:
        """Return whether the request is done; `wait` finishes it. A process that died has done nothing."""
        if not self.busy or self._process is None:
            return not self.busy
        assert self._process.stdout is not None and self._process.stdin is not None
        if wait:
            with suppress(OSError):
                self._process.stdin.write(_FINISH)
                self._process.stdin.flush()
        elif not select.select([self._process.stdout], [], [], 0)[0]:
            return False
        self.busy = False
        if self._process.stdout.readline().strip() != b"done":
            self.close()
        return True

    def close(self) -> None:
        process, self._process, self.busy = self._process, None, False
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 (our own module in our own interpreter)
                [sys.executable, "-m", "footnotes.store.sqlite.indexer", str(self._folder.absolute())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
                process_group=0,  # Ctrl-C is for the near side, which then stops this one in order
            )
        return self._process


def main(folder: Path) -> None:
    """Answer requests until there are no more."""
    from footnotes.store.sqlite.store import SqliteStore

    gc.freeze()  # imported objects stay
    gc.set_threshold(_OBJECTS)
    store = SqliteStore(folder)
    start = time.monotonic()
    requests = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    try:
        while line := requests.readline():
            if line == _FINISH:  # it was sent before our last answer arrived
                continue
            user_id, generation = json.loads(line)
            found = next(each for each in store.generations.all(user_id) if each.pk == generation)
            store.indexes.follow_words(found, _until_finished(requests, 2 * time.monotonic() - start))
            sys.stdout.write("done\n")
            sys.stdout.flush()
    finally:
        store.close()


def _until_finished(requests: FileIO, deadline: float) -> Callable[[Callable[[], bool]], bool]:
    """Return a function that continues while changes are likely or, once told to finish, while there are any."""
    deadline, must_finish = max(deadline, time.monotonic() + _FOLLOWED_SECONDS), False

    def goes_on(has_news: Callable[[], bool]) -> bool:
        nonlocal must_finish
        while must_finish or time.monotonic() < deadline:
            must_finish = must_finish or bool(select.select([requests], [], [], 0)[0])
            if has_news():
                return True
            if must_finish or select.select([requests], [], [], _LOOK_SECONDS)[0]:
                must_finish = True
                return has_news()
        return False

    return goes_on


if __name__ == "__main__":
    main(Path(sys.argv[1]))
