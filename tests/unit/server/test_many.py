"""Many at once: equal uploads, clients that vanish, clients that dawdle, searches while others wait."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from provider import ScriptedProvider, hangs
from serving import Running, serving, settled


def test_equal_uploads_at_once_are_one_document(server: Running) -> None:
    def upload(number: int) -> str:
        with httpx.Client(base_url=server.address, timeout=60, trust_env=False) as client:
            answer = client.post("/v1/documents", files={"file": (f"{number}.txt", b"Swifts sleep while they fly.")})
            return str(settled(client, answer.json()["jobs"][0]["id"])["document_id"])

    with ThreadPoolExecutor(10) as pool:
        ids = set(pool.map(upload, range(20)))
    assert len(ids) == 1
    assert [row["id"] for row in server.client.get("/v1/documents").json()["documents"]] == list(ids)


def test_clients_that_vanish_leave_nothing_open(server: Running) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    for _ in range(30):
        with socket.create_connection((host, int(port))) as gone:
            gone.sendall(b"GET /v1/jobs/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert gone.recv(100).startswith(b"HTTP/1.1 200")
    with socket.create_connection((host, int(port))) as gone:
        gone.sendall(b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf")
    for _ in range(250):
        if not server.app.state.streams.open:
            break
        time.sleep(0.02)
    assert server.app.state.streams.open == 0
    assert server.client.get("/v1/jobs").json()["jobs"] == []


def test_dawdling_clients_keep_nobody_from_searching(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_body_seconds=1.5) as running:
        running.add("a.txt", "Storks winter in Africa.")
        host, port = running.address.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port))) for _ in range(100)]
        for one in slow:
            one.sendall(b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n{")
        assert running.client.post("/v1/search", json={"query": "storks"}).json()["hits"]
        for one in slow:
            one.settimeout(20)
            assert b"408" in one.recv(100)
            one.close()


def test_a_search_does_not_wait_behind_uploads_that_are_waited_for(server: Running) -> None:
    with ThreadPoolExecutor(45) as pool:
        with server.app.state.intake.paused():  # whoever waits for a document waits on
            waiting = []
            for number in range(45):
                body = {"filename": f"{number}.txt", "content": f"Number {number} is odd or even."}
                address = f"{server.address}/rag/index"
                waiting.append(pool.submit(httpx.post, address, json=body, timeout=60, trust_env=False))
            while server.app.state.jobs.waiting() < 45:
                time.sleep(0.02)
            assert server.client.post("/v1/search", json={"query": "number"}, timeout=10).status_code == 200
        assert {one.result().json()["status"] for one in waiting} == {"indexed"}


def test_a_model_that_hangs_keeps_no_other_tenant_from_searching(tmp_path: Path) -> None:
    with ScriptedProvider(hangs()) as provider, ThreadPoolExecutor(90) as pool:
        settings = {"model": "openai:any", "openai_base_url": provider.base_url, "openai_api_key": "none"}
        with serving(tmp_path / "library", needs_keys=True, answer_seconds=6.0, **settings) as running:
            keys = running.app.state.keys
            ours, theirs = (keys.create(name, scopes=("read", "write"))[0] for name in ("ours", "theirs"))
            client = running.with_key(theirs)
            running.add("a.txt", "Storks winter in Africa.", client)
            running.add("a.txt", "Storks winter in Africa. Cranes too.", running.with_key(ours))
            header = {"Authorization": f"Bearer {ours}"}
            asked = []
            for number in range(90):
                path, body = ("/v1/ask", {"question": f"Where do storks winter? {number}"})
                if number % 3 == 0:
                    path, body = ("/v1/search", {"query": "storks", "reranker": "llm"})
                options = {"json": body, "headers": header, "timeout": 60, "trust_env": False}
                asked.append(pool.submit(httpx.post, running.address + path, **options))
            while len(provider.requests) < 20:
                time.sleep(0.02)
            for _ in range(30):
                assert client.post("/v1/search", json={"query": "storks"}, timeout=5).json()["hits"]
            assert sum(not one.done() for one in asked) > 20  # they hang still
            provider.released.set()
            assert {one.result().status_code for one in asked} <= {200, 429, 502, 503, 504}
