"""`footnotes serve` as a process of its own: killed in the middle, stopped politely, started twice."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

from serving import settled
from starting import started


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


def test_a_port_that_is_taken_is_a_clear_error_before_anything_is_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "footnotes", "serve", "--library", str(tmp_path / "library"), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--port" in done.stderr and "Traceback" not in done.stderr
    assert "Footnotes on http" not in done.stderr
