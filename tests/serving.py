"""A real server on loopback, in a thread of the test process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from footnotes.server.app import Server, create_app
from footnotes.server.protocol import ConnectionCounter, connection_class
from footnotes.settings import load

PATIENCE_SECONDS = 180
"""What a busy machine may take for what an idle one does at once."""


class Running:
    """A server that runs, and a client that speaks to it."""

    def __init__(self, app: Server, connections: ConnectionCounter, address: str) -> None:
        self.app = app
        self.connections = connections
        self.address = address
        self.client = httpx.Client(base_url=address, timeout=PATIENCE_SECONDS, trust_env=False)
        self._clients = [self.client]

    def with_key(self, key: str) -> httpx.Client:
        """A client that sends a key; closed with the server."""
        headers = {"Authorization": f"Bearer {key}"}
        made = httpx.Client(base_url=self.address, timeout=PATIENCE_SECONDS, trust_env=False, headers=headers)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def add(self, name: str, text: str, client: httpx.Client | None = None, **fields: Any) -> str:
        """Upload a text and wait until it is in; its document's id."""
        asked = client or self.client
        answer = asked.post("/v1/documents", files={"file": (name, text.encode())}, data=fields)
        assert answer.status_code == 202, answer.text
        return settled(asked, answer.json()["jobs"][0]["id"])["document_id"]


def settled(client: httpx.Client, job_id: str) -> dict[str, Any]:
    """A job when it is done."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        job: dict[str, Any] = client.get(f"/v1/jobs/{job_id}").json()
        if job["state"] in ("ready", "failed"):
            return job
        time.sleep(0.05)
    raise AssertionError(f"job {job_id} is still {job}")


@contextmanager
def serving(folder: Path, *, needs_keys: bool = False, **settings: Any) -> Iterator[Running]:
    """A server over a folder, on a port of its own."""
    chosen = load(folder, **{"embedder": "hashing", "serve_questions": False, **settings})
    app = create_app(folder, settings=chosen, needs_keys=needs_keys)
    # Named TCP, or asyncio would not turn Nagle's delay off, and every answer would wait 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        protocol = connection_class(chosen)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, ws="websockets-sansio", lifespan="on", http=protocol
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=_run, args=(server, listening), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        running = Running(app, protocol.counted, f"http://127.0.0.1:{listening.getsockname()[1]}")
        try:
            yield running
        finally:
            running.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    asyncio.run(server.serve(sockets=[listening]))


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Names and data of server-sent events."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, line.removeprefix("data: ")
