"""Runs parsers of untrusted bytes in a separate process, with limits.

`Worker` is the near side, `main` the far side (`python -m footnotes.parse.worker`). They exchange lines of JSON over
pipes: a request, then parts, then a report or an error. A full pipe makes the parser wait for its reader.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from footnotes import plugins
from footnotes.errors import DocumentError, FootnotesError, ParseError, ParseLimit, all_errors
from footnotes.parse import Source
from footnotes.parse.limits import Limits
from footnotes.types import Block, BlockKind, Metadata, Part, Report

GRACE_SECONDS = 15
"""A document may take this much more wall-clock time than processor time before it counts as hanging."""
_DYING_SECONDS = 5.0
_OUT_OF_MEMORY = (-signal.SIGKILL, -signal.SIGTRAP, -signal.SIGILL)
"""How the system ends a process that exceeds its limits, and how pdfium ends itself without memory."""
_READ_BYTES = 1 << 18
_FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "os.system", "os.exec")


class Worker:
    """One parser process, for one document at a time. `usable` is whether it can read another."""

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self.owner = os.getpid()
        self.documents = 0
        self.usable = True
        self._buffer = bytearray()
        self._peak_bytes = 0
        self._inherited = _peak_kilobytes()
        self._process = subprocess.Popen(  # noqa: S603 (our own module in our own interpreter)
            [sys.executable, "-m", "footnotes.parse.worker", str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
        )

    @property
    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def parse(self, parser: str, source: Source, limits: Limits) -> Iterator[Part | Report]:
        """Yield the parts and the report of one document. A worker abandoned before the end is not usable again."""
        self.documents += 1
        self.usable = False
        self._request(parser, source, limits)
        patience = float(limits.seconds + GRACE_SECONDS)
        while True:
            line, patience = self._line(source, limits, patience)
            item = decode(line)
            if isinstance(item, FootnotesError):
                self.usable = not isinstance(item, ParseLimit)
                raise item
            self.usable = isinstance(item, Report)
            yield item
            if self.usable:
                return

    def _request(self, parser: str, source: Source, limits: Limits) -> None:
        request = [parser, str(source.path.absolute()), source.filename, source.mime, limits.seconds]
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ParseError(f"could not pass {source.filename} to a parser: {error}") from error

    def _line(self, source: Source, limits: Limits, patience: float) -> tuple[bytes, float]:
        """Return the next line, and the remaining patience. Only waiting costs patience, not the caller's work."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(pipe, select.POLLIN | select.POLLHUP)
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            start = time.monotonic()
            ready = poll.poll(max(0.0, patience) * 1000)
            patience -= time.monotonic() - start
            data = os.read(pipe, _READ_BYTES) if ready else b""
            if not data:
                raise self._death(source, limits, hangs=not ready)
            self._buffer += data
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return line, patience

    def _death(self, source: Source, limits: Limits, *, hangs: bool) -> DocumentError:
        code = self.close(patience=0.0 if hangs else _DYING_SECONDS)
        if hangs:
            return ParseLimit(f"{source.filename} was not read within {limits.seconds + GRACE_SECONDS} seconds")
        if code == -signal.SIGXCPU:
            return ParseLimit(f"{source.filename} takes more than {limits.seconds} seconds of processor time to read")
        if code in _OUT_OF_MEMORY or self._peak_bytes * 2 > self.memory_bytes:
            return ParseLimit(f"{source.filename} needs more than {self.memory_bytes >> 20} MB of memory to read")
        return ParseError(f"{source.filename} makes its parser crash (exit code {code})")

    def close(self, patience: float = 0.0) -> int:
        """End the process if it still runs when patience runs out; return its exit code."""
        self.usable = False
        if self._process.returncode is None:
            self._end(patience)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # a request that was not read is still in the pipe's buffer
                    pipe.close()
        return self._process.returncode

    def _end(self, patience: float) -> None:
        """Reap the process, kill it if needed, and record its memory.

        A pipe closes a moment before its process is gone: killed in between, it would not report its cause of death.
        """
        deadline = time.monotonic() + patience
        finished, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        while not finished and time.monotonic() < deadline:
            time.sleep(0.01)
            finished, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if not finished:
            self._process.kill()
            _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        # A child begins with the peak of the process it was forked from: only what exceeds that is its own.
        self._peak_bytes = usage.ru_maxrss * 1024 if usage.ru_maxrss > self._inherited else 0


def _peak_kilobytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ── the far side


def main(memory_bytes: int) -> None:
    """Read requests until there are none."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # a library that prints must not garble the answers
    _confine(memory_bytes)
    for line in requests:
        parser, path, filename, mime, seconds = json.loads(line)
        _limit_processor(seconds)
        for item in _parse(parser, Source(Path(path), filename, mime)):
            answers.write(encode(item))
            answers.flush()


def _parse(parser: str, source: Source) -> Iterator[Part | Report | FootnotesError]:
    try:
        yield from plugins.find("parsers", parser)().parse(source)
    except FootnotesError as error:
        yield error
    except MemoryError:
        yield ParseLimit(f"{source.filename} needs more memory than the limit of a parser")
    except RecursionError:
        yield ParseLimit(f"{source.filename} is nested too deeply to read")
    except Exception as error:
        yield ParseError(f"{source.filename} cannot be read: {type(error).__name__}: {str(error)[:200]}")


def _confine(memory_bytes: int) -> None:
    """Limit the memory, lower the priority, and block network and programs for every library."""
    import resource

    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(5)

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in _FORBIDDEN:
            raise PermissionError(f"a parser may not use {event}")

    sys.addaudithook(refuse)


def _limit_processor(seconds: int) -> None:
    """Allow this many seconds from now."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(usage.ru_utime + usage.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard < 0 else min(soft, hard), hard))


# ── parts, reports and errors as lines of JSON, between a parser process and the one that started it ──────────


def encode(item: Part | Report | FootnotesError) -> bytes:
    """Encode one line. Characters that cannot be encoded become `?`."""
    return json.dumps(_message(item), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _message(item: Part | Report | FootnotesError) -> dict[str, object]:
    if isinstance(item, Part):
        return {"part": [item.start, item.text, [_block(block) for block in item.blocks], item.title]}
    if isinstance(item, Report):
        fields = (item.parser, item.mime, item.characters, item.pages, item.pages_without_text)
        return {"report": [*fields, item.title, dict(item.metadata), item.warnings]}
    return {"error": [item.code, item.message, item.remedy]}


def _block(block: Block) -> list[object]:
    attributes = dict(block.attributes)
    return [block.kind, block.start, block.end, block.page, block.level, block.headings, attributes]


def decode(line: bytes) -> Part | Report | FootnotesError:
    """Decode a line; an error is returned, not raised."""
    message = json.loads(line)
    if "part" in message:
        start, text, blocks, title = message["part"]
        return Part(start, text, tuple(_decoded_block(*each) for each in blocks), title)
    if "report" in message:
        parser, mime, characters, pages, without, title, metadata, warnings = message["report"]
        return Report(parser, mime, characters, pages, tuple(without), title, metadata, tuple(warnings))
    code, text, remedy = message["error"]
    kind = next((each for each in all_errors() if each.code == code), ParseError)
    return kind(text, remedy=remedy)


def _decoded_block(
    kind: BlockKind, start: int, end: int, page: int | None, level: int, headings: list[str], attributes: Metadata
) -> Block:
    return Block(kind, start, end, page, level, tuple(headings), attributes)


if __name__ == "__main__":
    main(int(sys.argv[1]))
