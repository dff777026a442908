"""A real Chroma server for the tests: started by itself on loopback, in a folder of its own, stopped at the end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

_SECONDS = 30.0


class ChromaServer:
    """`chroma run` on one port and one folder, which may be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"chroma://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = Path(sys.executable).parent / "chroma"
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "run", "--path", self.folder / "data", "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
            )
        deadline = time.monotonic() + _SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"chroma did not start: {(self.folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Let it end what it is doing."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._process = None

    def kill(self) -> None:
        """At once, as when the machine fails."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/api/v2/heartbeat", timeout=5) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def chroma_server() -> Iterator[ChromaServer]:
    """The server of this run."""
    pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
    folder = Path(tempfile.mkdtemp(prefix="fnchroma"))
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
