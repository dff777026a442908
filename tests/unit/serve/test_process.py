"""`footnotes serve` as a process of its own: killed in the middle, stopped politely, started twice."""

from __future__ import annotations

import signal
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
