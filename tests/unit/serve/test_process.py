"""`footnotes serve` as a process of its own: killed in the middle, stopped politely, started twice."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from serving import settled


@contextmanager
def started(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "footnotes", "serve", "--library", str(folder), "--port", str(port)]
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing"}
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            for _ in range(600):
                try:
                    if client.get("/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield process, client
    finally:
        process.kill()
        process.communicate()


def test_what_was_accepted_outlives_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    long = " ".join(f"Sentence {n} speaks of item {n * 7}." for n in range(20_000))
    with started(folder) as (process, client):
        files = [("file", ("long.txt", long.encode())), ("file", ("short.txt", b"Cranes dance in spring."))]
        jobs = client.post("/v1/documents", files=files).json()["jobs"]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with started(folder) as (process, client):
        assert [settled(client, job["id"])["state"] for job in jobs] == ["ready", "ready"]
        hits = client.post("/v1/search", json={"query": "cranes dance"}).json()["hits"]
        assert hits[0]["filename"] == "short.txt"
        second = subprocess.run(
            [sys.executable, "-m", "footnotes", "serve", "--library", str(folder), "--port", "0"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 1 and "another server serves" in second.stderr
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
