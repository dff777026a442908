"""`footnotes serve` as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


@contextmanager
def started(folder: Path, **settings: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "footnotes", "serve", "--library", str(folder), "--port", str(port)]
    named = {f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing", **named}
    process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL, text=True)  # a pipe would fill up
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180, trust_env=False) as client:
            for _ in range(600):
                try:
                    if client.get("/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield process, client
    finally:
        process.kill()
        process.wait()
