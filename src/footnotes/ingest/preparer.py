"""A second process that reads, parses and cuts the next small files while this one writes those before them.

`Preparer` is the near side, `main` the far side (`python -m footnotes.ingest.preparer`). They exchange groups of files
over pipes. If the far side dies, or another program keeps it from starting, the near side does the work itself.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import compress, islice
from typing import IO, TypeAlias

from footnotes.ingest.garbage import OBJECTS
from footnotes.ingest.prepare import Instructions, Prepared, SmallFile, prepare_together
from footnotes.ingest.reading import FILES_TOGETHER
from footnotes.ingest.work import NewSource

Select: TypeAlias = Callable[[Sequence[NewSource]], list[bool]]
AHEAD = 3
"""Groups that are under way: one being prepared, one being sent, one waiting."""
_LENGTH_BYTES = 8


class Preparer:
    """The process, started by the first request. Requests are answered in order."""

    def __init__(self, instructions: Instructions) -> None:
        self._instructions = instructions
        self._process: subprocess.Popen[bytes] | None = None
        self._threads = ThreadPoolExecutor(1, "footnotes-preparer")
        self._is_broken = False

    def prepare(self, sources: Sequence[NewSource], select: Select) -> Iterator[Prepared | None]:
        """Yield what was prepared of each source, in order; None for those that the caller must read itself.

        `select` chooses the ones of a group that are worth it. The first group is not: starting the process takes as
        long as reading it.
        """
        waiting: deque[tuple[list[bool], Future[bytes] | None]] = deque()
        groups = iter([sources[start : start + FILES_TOGETHER] for start in range(0, len(sources), FILES_TOGETHER)])
        waiting.append(([False] * len(next(groups, ())), None))
        while waiting:
            for group in islice(groups, AHEAD - len(waiting) + 1):
                selected = select(group)
                waiting.append((selected, self._ask(list(compress(group, selected)))))
            selected, reply = waiting.popleft()
            found = self._answer(reply)
            yield from (next(found, None) if is_selected else None for is_selected in selected)

    def _ask(self, origins: Sequence[NewSource]) -> Future[bytes] | None:
        if not origins or self._is_broken:
            return None
        files = [SmallFile(str(each.path), each.filename, each.collection, each.content) for each in origins]
        # A thread waits for the pipes: whoever writes a request before reading the last reply could wait for ever.
        return self._threads.submit(self._converse, pickle.dumps(files, pickle.HIGHEST_PROTOCOL))

    def _answer(self, reply: Future[bytes] | None) -> Iterator[Prepared | None]:
        """Return the prepared files of a group; nothing if the process failed."""
        try:
            found: list[Prepared | None] = [] if reply is None else pickle.loads(reply.result())  # noqa: S301 (ours)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._is_broken = True
            return iter(())
        return iter(found)

    def close(self) -> None:
        """End the process. Groups that were not waited for are lost."""
        self._is_broken = True
        if self._process is not None:
            self._process.kill()  # it holds nothing that must be kept, and may be in the middle of a group
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()
            self._process.wait()
            self._process = None

    def _converse(self, request: bytes) -> bytes:
        if self._is_broken:
            raise EOFError
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        _write_frame(process.stdin, request)
        return _read_frame(process.stdout)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "footnotes.ingest.preparer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
                process_group=0,  # Ctrl-C is for the near side, which then ends this one
            )
            assert self._process.stdin is not None
            _write_frame(self._process.stdin, pickle.dumps(self._instructions))
        return self._process


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    gc.freeze()  # imported objects stay
    gc.set_threshold(OBJECTS)
    with suppress(EOFError, BrokenPipeError):
        instructions = pickle.loads(_read_frame(requests))  # noqa: S301 (our own process wrote it)
        while True:
            files = pickle.loads(_read_frame(requests))  # noqa: S301
            found = prepare_together(files, instructions)
            _write_frame(replies, pickle.dumps(found, pickle.HIGHEST_PROTOCOL))


def _write_frame(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(len(content).to_bytes(_LENGTH_BYTES, "little") + content)
    pipe.flush()


def _read_frame(pipe: IO[bytes]) -> bytes:
    length = int.from_bytes(_read_exactly(pipe, _LENGTH_BYTES), "little")
    return _read_exactly(pipe, length)


def _read_exactly(pipe: IO[bytes], count: int) -> bytes:
    found = pipe.read(count)
    if len(found) < count:
        raise EOFError
    return found


if __name__ == "__main__":
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not end up between our answers
        main(sys.stdin.buffer, answers)
