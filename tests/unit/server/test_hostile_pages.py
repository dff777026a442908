"""A page that never comes to an end holds up nothing but its own job: neither other documents nor deletion."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import serving, settled


@pytest.fixture
def hostile() -> Iterator[str]:
    """A site that sends a byte of its headers now and then, for ever."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked = threading.Event()

        def drip(client: socket.socket) -> None:
            with contextlib.suppress(OSError), client:
                client.recv(1000)
                client.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                asked.set()
                while True:
                    client.sendall(b"a")
                    time.sleep(0.1)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=drip, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.mark.parametrize("worker", [True, False])
def test_other_documents_are_taken_in_and_deleted_meanwhile(tmp_path: Path, hostile: str, worker: bool) -> None:
    settings = {"fetch_private": True, "fetch_seconds": 600.0, "serve_worker": worker, "lock_seconds": 2.0}
    with serving(tmp_path / "library", needs_keys=True, **settings) as running:
        keys = running.app.state.keys
        ours, theirs = (running.with_key(keys.create(name, scopes=("read", "write"))[0]) for name in ("a", "b"))
        first = running.add("first.txt", "Storks winter in Africa.", theirs)
        job = ours.post("/v1/documents", json={"url": hostile}).json()["jobs"][0]["id"]
        while ours.get(f"/v1/jobs/{job}").json()["state"] == "queued":
            time.sleep(0.05)
        running.add("second.txt", "Cranes dance in spring.", theirs)
        running.add("own.txt", "Ravens remember faces.", ours)
        assert theirs.delete(f"/v1/documents/{first}").status_code == 200
        assert ours.get(f"/v1/jobs/{job}").json()["state"] == "running"
        running.app.state.intake.stop(0.1)


def test_the_page_itself_fails_at_its_deadline(tmp_path: Path, hostile: str) -> None:
    with serving(tmp_path / "library", fetch_private=True, fetch_seconds=1.0) as running:
        job = running.client.post("/v1/documents", json={"url": hostile}).json()["jobs"][0]["id"]
        done = settled(running.client, job)
        assert done["state"] == "failed" and done["error"]["code"] == "fetch_failed"
