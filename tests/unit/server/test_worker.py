"""The process that takes documents in: killed, killed again, outlived, and left out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from footnotes.library import Library
from serving import Running, serving, settled
from starting import started

LONG = " ".join(f"Sentence {n} speaks of item {n * 7} and of place {n % 89}." for n in range(8_000))


def begun(client: httpx.Client, job_id: str) -> dict[str, Any]:
    """A job once its text is in and its vectors are being made."""
    for _ in range(2_000):
        job: dict[str, Any] = client.get(f"/v1/jobs/{job_id}").json()
        if job["stage"] == "embedding" or job["state"] in ("ready", "failed"):
            return job
        time.sleep(0.01)
    raise AssertionError(f"job {job_id} does not begin: {job}")


def upload(client: httpx.Client, name: str, text: str) -> str:
    answer = client.post("/v1/documents", files={"file": (name, text.encode())})
    return str(answer.json()["jobs"][0]["id"])


def worker_of(server: Running) -> int:
    pid = server.app.state.intake.worker.pid
    assert pid is not None
    return int(pid)


def test_a_worker_that_dies_is_replaced_and_goes_on(server: Running) -> None:
    job = upload(server.client, "long.txt", LONG)
    begun(server.client, job)
    first = worker_of(server)
    os.kill(first, signal.SIGKILL)
    done = settled(server.client, job)
    assert done["state"] == "ready" and done["attempts"] == 2 and worker_of(server) != first
    assert server.client.post("/v1/search", json={"query": "Sentence 7999"}).json()["hits"]
    assert 'footnotes_errors_total{code="worker_died"} 1.0' in server.client.get("/metrics").text


def test_who_is_there_at_three_deaths_has_failed_and_the_others_go_on(server: Running) -> None:
    job = upload(server.client, "long.txt", LONG)
    killed: set[int] = set()
    while (state := server.client.get(f"/v1/jobs/{job}").json())["state"] in ("queued", "running"):
        pid = server.app.state.intake.worker.pid
        if state["state"] == "running" and pid is not None and pid not in killed:
            time.sleep(0.3)  # one that had not begun yet is replaced once for nothing
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    assert state["state"] == "failed" and state["error"]["code"] == "worker_died" and 3 <= len(killed) <= 6
    assert state["retryable"] and state["attempts"] == 3
    assert server.add("short.txt", "Cranes dance in spring.")
    assert server.client.post(f"/v1/jobs/{job}/retry").status_code == 202
    assert settled(server.client, job)["state"] == "ready"


def test_the_worker_ends_with_the_server(tmp_path: Path) -> None:
    with serving(tmp_path / "library") as running:
        begun(running.client, upload(running.client, "long.txt", LONG))
        pid = worker_of(running)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_a_process_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_worker=False) as running:
        gone = running.add("short.txt", "Cranes dance in spring.")
        job = upload(running.client, "long.txt", LONG)
        begun(running.client, job)
        assert running.client.delete(f"/v1/documents/{gone}").status_code == 200
        assert settled(running.client, job)["state"] == "ready"
        assert running.app.state.intake.worker is None
        assert 'footnotes_embedding_tokens_total{role="passage"}' in running.client.get("/metrics").text


def test_nothing_is_stuck_after_a_kill_in_the_middle(tmp_path: Path) -> None:
    """A server and a command line are killed while they take documents in; the next server finishes both."""
    folder, remote = tmp_path / "library", tmp_path / "outside.txt"
    remote.write_text(LONG.replace("Sentence", "Line"))
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing"}
    words = [sys.executable, "-m", "footnotes", "add", str(remote), "--library", str(folder)]
    adding = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(2_000):
        if (folder / "write.lock").exists() and (folder / "write.lock").stat().st_size:
            break
        time.sleep(0.01)
    time.sleep(0.5)  # the journal says what was begun
    adding.kill()
    adding.wait()
    with started(folder) as (process, client):
        jobs = [upload(client, f"{n}.txt", LONG.replace("item", f"thing {n}")) for n in range(2)]
        begun(client, jobs[0])
        process.send_signal(signal.SIGKILL)
        process.wait()
    began = time.monotonic()
    with started(folder) as (_, client):
        assert [settled(client, job)["state"] for job in jobs] == ["ready", "ready"]
        while statuses(client) - {"ready", "failed"} and time.monotonic() - began < 60:
            time.sleep(0.1)
        assert statuses(client) == {"ready"} and time.monotonic() - began < 60
        names = {row["filename"] for row in client.get("/v1/documents").json()["documents"]}
        assert names == {"0.txt", "1.txt", "outside.txt"}
    with Library(folder) as library:
        assert {job.stage for job in library.jobs()} <= {"ready", "failed"} and library.status()["waiting"] == 0


def statuses(client: httpx.Client) -> set[str]:
    return {row["status"] for row in client.get("/v1/documents").json()["documents"]}
