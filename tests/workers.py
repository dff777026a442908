"""Workers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CUT_WORKERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'footnotes worker%'
"""
"""Ends the connections of workers. They are known by their name."""


@contextmanager
def worker(address: str, folder: Path, *arguments: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    said = {f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, "FOOTNOTES_STORE": address, "FOOTNOTES_EMBEDDER": "hashing", **said}
    command = [sys.executable, "-m", "footnotes", "worker", "--library", str(folder), *arguments]
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stderr=log, text=True)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(40)


def until(condition: object, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)
