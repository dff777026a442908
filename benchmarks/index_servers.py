"""Servers of benchmarks/indexes.py, on loopback and in folders of their own: Qdrant, Chroma and PostgreSQL.

Qdrant and Chroma are started as the tests start them. Qdrant runs with the settings it comes with, PostgreSQL with 1 GB
of shared buffers.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Protocol

import psutil

from postgres import Server

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from chroma import ChromaServer
from qdrant import QdrantServer, asked, qdrant_program

_QUIET_SECONDS = 7.0
"""Qdrant looks for something to improve when it has written its changes down, every five seconds."""


class Database(Protocol):
    """A vector database that a row has to itself. `pids` are those of its processes."""

    address: str
    storage: Path

    @property
    def pids(self) -> list[int]: ...

    def settle(self) -> float:
        """Wait until nothing is built behind any more; the seconds until something was last seen at work."""
        ...

    def lose(self) -> None:
        """Forget everything, as after a failed disk."""
        ...

    def stop(self) -> None: ...


class PlainQdrant(QdrantServer):
    """A Qdrant with its own defaults in place of those of the tests."""

    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in super()._environment().items() if name not in _OF_THE_TESTS}


_OF_THE_TESTS = {
    "QDRANT__SERVICE__MAX_WORKERS",
    "QDRANT__STORAGE__PERFORMANCE__MAX_SEARCH_THREADS",
    "QDRANT__STORAGE__PERFORMANCE__OPTIMIZER_CPU_BUDGET",
    "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB",
    "QDRANT__STORAGE__OPTIMIZERS__DEFAULT_SEGMENT_NUMBER",
}


class Served:
    """What the servers of the tests do alike."""

    _server: QdrantServer | ChromaServer
    storage: Path

    def lose(self) -> None:
        self._server.stop()
        shutil.rmtree(self.storage)
        self._server.start()

    def stop(self) -> None:
        self._server.kill()


class Qdrant(Served):
    _server: PlainQdrant

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._server = PlainQdrant(qdrant_program(), folder).start()
        self.address, self.storage = self._server.address, folder / "storage"

    @property
    def pids(self) -> list[int]:
        return [self._server.pid]

    def settle(self) -> float:
        began = quiet_since = time.monotonic()
        with asked(self._server) as client:
            while time.monotonic() - quiet_since < _QUIET_SECONDS:
                names = [one.name for one in client.get_collections().collections]
                if any(client.get_collection(name).status != "green" for name in names):
                    quiet_since = time.monotonic()
                time.sleep(0.1)
        return quiet_since - began

    def restart(self) -> None:
        self._server.stop()
        self._server.start()


class Chroma(Served):
    _server: ChromaServer

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._server = ChromaServer(folder)
        self._server.start()
        self.address, self.storage = self._server.address, folder / "data"

    @property
    def pids(self) -> list[int]:
        assert self._server._process is not None
        return [self._server._process.pid]

    def settle(self) -> float:
        return 0.0  # it builds its graph while it is filled


class ChromaFolder:
    """Chroma inside the program that asks it."""

    def __init__(self, folder: Path) -> None:
        self.address, self.storage = f"chroma:{folder}", folder

    @property
    def pids(self) -> list[int]:
        return []

    def settle(self) -> float:
        return 0.0  # it builds its graph while it is filled

    def lose(self) -> None:
        shutil.rmtree(self.storage)

    def stop(self) -> None:
        """It ends with the program."""


class Postgres:
    """The truth of a row in place of a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._server = Server(folder)
        self.address, self.storage = self._server.address, folder / "postgres"

    @property
    def pids(self) -> list[int]:
        main = int((self.storage / "postmaster.pid").read_text().split()[0])
        return [main, *(child.pid for child in psutil.Process(main).children(recursive=True))]

    def stop(self) -> None:
        self._server.stop()


def memory(pids: list[int]) -> int:
    """Bytes in memory; what processes share is divided among them."""
    return sum(psutil.Process(pid).memory_full_info().pss for pid in pids)


def anonymous(pids: list[int]) -> int:
    """Of it what no file backs: pages of files may be dropped and read again."""
    return sum(_kilobytes(pid, "Anonymous") for pid in pids) * 1024


def _kilobytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def disk(folder: Path) -> int:
    """Bytes on disk, without the write-ahead log of a PostgreSQL, which says nothing of what is stored."""
    files = (path for path in folder.rglob("*") if "pg_wal" not in path.parts and path.is_file())
    return sum(path.stat().st_blocks * 512 for path in files)
