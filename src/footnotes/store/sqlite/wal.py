"""Checks a write-ahead log before SQLite reads it, because SQLite silently stops at the first damaged frame.

The format is that of https://www.sqlite.org/fileformat2.html#walformat. Every commit is synced before the next one is
written. So a damaged frame at the very end may be an unacknowledged commit torn by a power cut. But if complete later
commits follow, the frame was intact on disk before, and SQLite would lose everything after it.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import StoreCorrupt, StoreLocked
from footnotes.store.lock import FileLock

_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
MARKER = "library.json"
_RESTORE = "Restore the folder from a backup. To begin again, remove the folder with all that is in it."
_MOVE = "Restore the folder from a backup, or move {} away to go on with what was written before the damage."


def lost_from(path: Path) -> int | None:
    """Return the number of the damaged frame after which commits would be lost; None if none would be."""
    content = path.read_bytes() if path.exists() else b""
    if len(content) < _HEADER.size:
        return None
    magic, _, page_size, _, *salts, first, second = _HEADER.unpack_from(content)
    order = _MAGIC.get(magic)
    if order is None or _checksum(content[:24], (0, 0), order) != (first, second):
        return 1 if _has_commits(content, page_size, None) else None
    sums, size = (first, second), _FRAME.size + page_size
    for number, at in enumerate(range(_HEADER.size, len(content) - size + 1, size), 1):
        frame = content[at : at + size]
        *_, found_first, found_second = _FRAME.unpack_from(frame)
        now = _checksum(frame[:8] + frame[_FRAME.size :], sums, order)
        if tuple(_FRAME.unpack_from(frame)[2:4]) != tuple(salts) or now != (found_first, found_second):
            return number if _has_commits(content[at:], page_size, tuple(salts)) else None
        sums = now
    return None


def _has_commits(content: bytes, page_size: int, salts: tuple[int, ...] | None) -> bool:
    """Return whether a commit ends in the frames and frames of a later one follow."""
    start = _HEADER.size if salts is None else 0
    ended = False
    for committed, theirs in _frames(content, start, page_size):
        if salts is not None and theirs != salts:
            continue
        if ended:
            return True
        ended = committed
    return False


def _frames(content: bytes, start: int, page_size: int) -> Iterator[tuple[bool, tuple[int, ...]]]:
    size = _FRAME.size + page_size
    if not 512 <= page_size <= 65_536:
        return
    for at in range(start, len(content) - size + 1, size):
        fields = _FRAME.unpack_from(content, at)
        yield fields[1] > 0, fields[2:4]


def _checksum(content: bytes, start: tuple[int, int], order: str) -> tuple[int, int]:
    """Compute SQLite's checksum: for each pair of words x, y first a += x + b, then b += y + a, modulo 2³².

    It is linear in the words and the initial sums, so their coefficients can be computed in advance.
    """
    words = np.frombuffer(content, dtype=f"{order}u4").astype(np.uint32)
    before, first, second = _weights(len(words) // 2)
    sums = before @ np.array(start, dtype=np.uint64)
    return (
        int(sums[0] + np.dot(words, first)) & 0xFFFFFFFF,
        int(sums[1] + np.dot(words, second)) & 0xFFFFFFFF,
    )


@cache
def _weights(pairs: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the coefficients of the initial sums and of each word in both sums after so many pairs."""
    (a, b), (c, d) = (1, 0), (0, 1)  # the step of one pair, to the power of the number of pairs that follow
    first, second = np.zeros(2 * pairs, dtype=np.uint32), np.zeros(2 * pairs, dtype=np.uint32)
    for pair in range(pairs - 1, -1, -1):
        first[2 * pair : 2 * pair + 2] = ((a + b) & 0xFFFFFFFF, b)
        second[2 * pair : 2 * pair + 2] = ((c + d) & 0xFFFFFFFF, d)
        (a, b), (c, d) = (
            ((a + b) & 0xFFFFFFFF, (a + 2 * b) & 0xFFFFFFFF),
            ((c + d) & 0xFFFFFFFF, (c + 2 * d) & 0xFFFFFFFF),
        )
    return np.array([[a, b], [c, d]], dtype=np.uint64), first, second


# ── distinguishes a new library from one whose database is gone, by a marker file and the existing indexes ────


def was_library(folder: Path) -> bool:
    """Return whether there was a library in a folder, even if its database is gone."""
    return (folder / MARKER).exists() or next(folder.glob("index/*/*/*/manifest.json"), None) is not None


def check_present(database: Path) -> None:
    """Raise `StoreCorrupt` if an existing database is missing, empty, or would lose commits of its log."""
    folder, log = database.parent, Path(f"{database}-wal")
    is_logged = log.exists() and log.stat().st_size > 0
    if not database.exists() and was_library(folder):
        raise StoreCorrupt(f"{database.name} is missing, though there was a library in {folder}", remedy=_RESTORE)
    if database.exists() and database.stat().st_size == 0 and not is_logged and was_library(folder):
        raise StoreCorrupt(f"{database.name} is empty, though there was a library in {folder}", remedy=_RESTORE)
    if is_logged:
        _check_log(folder, log)


def _check_log(folder: Path, log: Path) -> None:
    if not os.access(folder, os.W_OK):
        return
    with suppress(StoreLocked), FileLock(folder / "write.lock").held(seconds=0, purpose="checking the log"):
        if (frame := lost_from(log)) is not None:
            raise StoreCorrupt(
                f"{log.name} is damaged at frame {frame}: what was committed after it would be lost",
                remedy=_MOVE.format(log.name),
            )


def mark(folder: Path, library: str) -> None:
    """Leave a marker that there is a library here."""
    path = folder / MARKER
    if not path.exists():
        with suppress(OSError):  # on a full or protected disk, the indexes show it as well
            path.write_text(json.dumps({"library": library}) + "\n", encoding="utf-8")
            path.chmod(0o600)
