"""A disk with a volatile write cache, as one file of a file system in user space (`mfusepy`, `fuse3`).

    python -m torture.disk MEGABYTES MOUNT_POINT

`disk.img` is the disk; a flush (fsync) makes what was written durable. A write of `MODE SEED PATH` to `cut` is the
power cut: the image at PATH holds what was flushed and, of the rest, `none`, `all`, a `prefix`, or a random half of
its sectors (`some`, and `shuffle` in any order). From then on the disk answers with errors.
"""

from __future__ import annotations

import errno
import random
import stat
import sys
import time
from pathlib import Path
from typing import Any

import mfusepy

SECTOR = 4096
Writes = list[tuple[int, bytes]]


class Disk(mfusepy.Operations):  # type: ignore[misc]
    """What was written, what of it is durable, and what was written since the last flush."""

    use_ns = True

    def __init__(self, size: int) -> None:
        self._current, self._durable = bytearray(size), bytearray(size)
        self._pending: Writes = []
        self._is_dead = False

    def getattr(self, path: str, fh: Any = None) -> dict[str, int]:
        if path not in ("/", "/disk.img", "/cut"):
            raise mfusepy.FuseOSError(errno.ENOENT)
        mode = stat.S_IFDIR | 0o755 if path == "/" else stat.S_IFREG | 0o600
        size = len(self._current) if path == "/disk.img" else SECTOR
        now = time.time_ns()
        return {"st_mode": mode, "st_size": size, "st_nlink": 1, "st_atime": now, "st_mtime": now, "st_ctime": now}

    def readdir(self, path: str, fh: Any) -> list[str]:
        return [".", "..", "disk.img", "cut"]

    def open(self, path: str, flags: int) -> int:
        return 1

    def read(self, path: str, size: int, offset: int, fh: Any) -> bytes:
        self._check_power()
        return bytes(self._current[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: Any) -> int:
        self._check_power()
        if path == "/cut":
            mode, seed, image = data.decode().split()
            Path(image).write_bytes(self._cut(mode, random.Random(seed)))
        else:
            self._current[offset : offset + len(data)] = data
            self._pending.append((offset, bytes(data)))
        return len(data)

    def fsync(self, path: str, datasync: int, fh: Any) -> int:
        self._check_power()
        _apply(self._pending, self._durable)
        self._pending.clear()
        return 0

    def truncate(self, path: str, length: int, fh: Any = None) -> int:
        return 0

    def flush(self, path: str, fh: Any) -> int:
        return 0

    def release(self, path: str, fh: Any) -> int:
        return 0

    def _check_power(self) -> None:
        if self._is_dead:
            raise mfusepy.FuseOSError(errno.EIO)

    def _cut(self, mode: str, chance: random.Random) -> bytes:
        self._is_dead = True
        image = bytearray(self._durable)
        _apply(_survivors(self._pending, mode, chance), image)
        return bytes(image)


def _survivors(pending: Writes, mode: str, chance: random.Random) -> Writes:
    if mode in ("none", "all", "prefix"):
        return pending[: {"none": 0, "all": len(pending), "prefix": chance.randint(0, len(pending))}[mode]]
    sectors = [(at + part, data[part : part + SECTOR]) for at, data in pending for part in range(0, len(data), SECTOR)]
    kept = [sector for sector in sectors if chance.random() < 0.5]
    if mode == "shuffle":
        chance.shuffle(kept)
    return kept


def _apply(writes: Writes, image: bytearray) -> None:
    for offset, data in writes:
        image[offset : offset + len(data)] = data


if __name__ == "__main__":
    disk = Disk(int(sys.argv[1]) << 20)
    mfusepy.FUSE(disk, sys.argv[2], foreground=True, nothreads=True, direct_io=True)
