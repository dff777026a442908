"""Runs a command and kills it (SIGKILL) the moment the kernel says that a file below a folder appears or changes."""

from __future__ import annotations

import ctypes
import os
import re
import select
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_CREATE, _MOVED_TO, _DELETE, _MODIFY, _IS_DIRECTORY = 0x100, 0x80, 0x200, 0x2, 0x40000000
_EVENT = struct.Struct("iIII")
IS_LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Ended:
    """What the command said before its end, and whether it was killed."""

    output: str
    killed: bool
    events: int = 0
    status: int = 0


def run_until_file(
    command: Sequence[str],
    folder: Path,
    pattern: str,
    *,
    skip: int = 0,
    seconds: float = 120.0,
    writes: bool = False,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Start a command and kill it when a file whose name matches appears or goes; `skip` lets so many pass first.

    With `writes` every write to a file is an event too. A command that does not end in time is killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    events = 0
    with _Watch(folder, writes=writes) as watch:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        for name in watch.names(process, seconds):
            events += bool(re.search(pattern, name))
            if events > skip:
                process.kill()
                break
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Ended(output, process.returncode == -9, events, process.returncode)


class _Watch:
    """inotify over a folder and all folders in it."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self._mask = _CREATE | _MOVED_TO | _DELETE | (_MODIFY if writes else 0)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        self._add(folder)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def names(self, process: subprocess.Popen[str], seconds: float) -> Iterator[str]:
        """The names of files as they come and go, until the process ends."""
        for _ in range(int(seconds / 0.01)):
            if select.select([self._file], [], [], 0.01)[0]:
                yield from self._read()
            elif process.poll() is not None:
                return

    def _add(self, folder: Path) -> None:
        number = self._libc.inotify_add_watch(self._file, os.fsencode(folder), self._mask)
        if number >= 0:
            self._folders[number] = folder
            for path in folder.iterdir():
                if path.is_dir():
                    self._add(path)

    def _read(self) -> Iterator[str]:
        content, at = os.read(self._file, 1 << 16), 0
        while at < len(content):
            number, mask, _, length = _EVENT.unpack_from(content, at)
            name = content[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0").decode()
            at += _EVENT.size + length
            if mask & _IS_DIRECTORY and number in self._folders and not mask & _DELETE:
                self._add(self._folders[number] / name)
            yield ("-" if mask & _DELETE else "=" if mask & _MODIFY else "+") + name
