"""Clients that mean harm, or are merely broken: slow headers, vanishing, endless JSON, ranges, parts, streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from serving import Running, serving, settled

JSON = {"Content-Type": "application/json"}


def address(running: Running) -> tuple[str, int]:
    host, port = running.address.removeprefix("http://").split(":")
    return host, int(port)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def eventually(check: Callable[[], object], seconds: float = 120.0, said: Callable[[], object] = str) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, said()
        time.sleep(0.02)


def steady(count: Callable[[], int], quiet: float = 3.0) -> int:
    """A number that has not grown for some seconds."""
    most, since = count(), time.monotonic()
    while time.monotonic() < since + quiet:
        time.sleep(0.1)
        if (now := count()) > most:
            most, since = now, time.monotonic()
    return count()


# ── headers


def test_slow_headers_are_dropped_and_keep_nobody_waiting(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_header_seconds=1.0) as running:
        running.add("a.txt", "Storks winter in Africa.")
        slow = [socket.create_connection(address(running)) for _ in range(200)]
        for one in slow:
            one.sendall(b"GET /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        for _ in range(5):
            for one in slow:
                one.sendall(b"a")
            assert running.client.post("/v1/search", json={"query": "storks"}).json()["hits"]
        for one in slow:
            one.settimeout(10)
            answer = one.recv(2000)
            assert answer.startswith(b"HTTP/1.1 408") and b"client_too_slow" in answer
            one.close()
        silent = socket.create_connection(address(running))
        silent.settimeout(10)
        assert silent.recv(100) == b""
        silent.close()


def test_a_connection_may_be_used_again(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_header_seconds=1.0) as running:
        assert running.client.get("/healthz").status_code == 200
        time.sleep(1.3)  # the deadline of the first request's headers is over, and has no say in the second
        assert running.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(("sent", "status"), [
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 1_000_000, b"431"),
    (b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: form-data; b=" + b"b" * 1_000_000, b"431"),
    (b"this is no HTTP at all\r\n\r\n", b"400"),
])  # fmt: skip
def test_odd_headers_are_refused_in_the_one_shape(shared: Running, sent: bytes, status: bytes) -> None:
    with socket.create_connection(address(shared)) as client:
        client.settimeout(10)
        with contextlib.suppress(OSError):
            client.sendall(sent)
        answer = b""
        with contextlib.suppress(OSError):
            while block := client.recv(65536):
                answer += block
    if answer:  # a client that is still sending may see the end of the connection first
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert {"code", "message", "remedy", "request_id"} <= set(json.loads(answer.partition(b"\r\n\r\n")[2])["error"])


# ── bodies


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 10_000,
        b'{"query": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001,
        b'{"query": "a", "limit": ' + b"9" * 10_000_000 + b"}",
        b'{"query": "a", "alpha": NaN}',
        b'{"query": "a", "alpha": Infinity}',
        b'{"query": "a", "query": "b"}',
        b'{"query": "a", "where": {"year": 1, "year": 2}}',
        b'{"query": "\xff"}',
        b"",
    ],
)
@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/documents", "/v1/chat/completions", "/rag/search"])
def test_json_that_is_not_quite_json(shared: Running, path: str, raw: bytes) -> None:
    answer = shared.client.post(path, content=raw, headers=JSON)
    assert answer.status_code in (400, 422), (path, raw[:40])
    assert answer.json()["error"]["code"] == "request_invalid"


def test_ten_thousand_parts(shared: Running) -> None:
    fields = [("file", (f"{n}.txt", b"x")) for n in range(10_000)]
    assert shared.client.post("/v1/documents", files=fields).status_code in (400, 413)
    values = {f"field{n}": "x" for n in range(10_000)}
    answer = shared.client.post("/v1/documents", data=values, files={"file": ("a.txt", b"x")})
    assert answer.status_code in (400, 413) and answer.json()["error"]["remedy"]


def test_ten_thousand_ranges(server: Running) -> None:
    document = server.add("long.txt", "Words and words. " * 20_000)
    size = len(server.client.get(f"/v1/documents/{document}/content").content)
    for ranges in (",".join(f"{n}-" for n in range(10_000)), ",".join(["0-"] * 10_000), "5-1", "-", "x" * 10_000):
        answer = server.client.get(f"/v1/documents/{document}/content", headers={"Range": f"bytes={ranges}"})
        assert answer.status_code in (200, 206, 400, 416) and len(answer.content) <= 2 * size
    one = server.client.get(f"/v1/documents/{document}/content", headers={"Range": "bytes=0-4"})
    assert one.status_code == 206 and one.content == b"Words"


# ── vanishing


def test_clients_that_vanish_leave_nothing(server: Running, tmp_path: Path) -> None:
    document = server.add("a.txt", "Storks winter in Africa. " * 2_000)
    head = b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    asked = b'{"question": "Where do storks winter?"}'
    partial = [
        head + b"Content-Length: 90000000\r\n\r\n" + part + b"x" * 200_000,
        head + b"Transfer-Encoding: chunked\r\n\r\n1000\r\n" + part,
        b"GET /v1/jobs/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"
        + f"Content-Length: {len(asked)}\r\n\r\n".encode() + asked,
        f"GET /v1/documents/{document}/content HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(),
    ]  # fmt: skip

    def vanish(times: int) -> None:
        for number in range(times):
            with socket.create_connection(address(server)) as gone:
                gone.sendall(partial[number % len(partial)])
        eventually(lambda: server.app.state.streams.open == 0)

    folder = tmp_path / "library"
    files = {path for path in folder.rglob("*") if path.is_file()}

    def left() -> set[Path]:
        return {path for path in folder.rglob("*") if path.is_file()} - files - {folder / "footnotes.db-wal"}

    vanish(1_000)
    before = steady(open_files)  # most threads that serve have their connection to the database by now, and keep it
    vanish(1_000)  # of every kind 200: one that leaks a descriptor leaves as many
    eventually(lambda: open_files() <= before + 150)
    eventually(lambda: not left(), said=left)
    assert server.client.post("/v1/search", json={"query": "storks"}).json()["hits"]


# ── streams


def test_two_thousand_streams(tmp_path: Path) -> None:
    """Up to the limit they are served, beyond it told to come back; searches go on meanwhile."""

    async def run(running: Running) -> list[bytes]:
        held, first = [], []
        for _ in range(2_000):
            reader, writer = await asyncio.open_connection(*address(running))
            writer.write(b"GET /v1/jobs/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            held.append(writer)
            first.append((await reader.readline()).split()[1])
        found = await asyncio.to_thread(running.client.post, "/v1/search", json={"query": "storks"})
        assert found.json()["hits"]
        for writer in held:
            writer.close()
        return first

    with serving(tmp_path / "library", serve_streams=256) as running:
        running.add("a.txt", "Storks winter in Africa.")
        statuses = asyncio.run(run(running))
        assert statuses.count(b"200") == 256 and statuses.count(b"503") == 2_000 - 256
        eventually(lambda: running.app.state.streams.open == 0)
        assert running.client.post("/v1/documents", json={"text": "Still there."}).status_code == 202


# ── tenants


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library", needs_keys=True, serve_libraries=2, serve_tenant_bytes=1_000) as running:
        yield running


def client_of(running: Running, tenant: str) -> httpx.Client:
    return running.with_key(running.app.state.keys.create(tenant, scopes=("read", "write"))[0])


def test_a_tenant_keeps_only_so_much(keyed: Running) -> None:
    ours, theirs = client_of(keyed, "ours"), client_of(keyed, "theirs")
    document = keyed.add("a.txt", "Storks winter in Africa. " * 30, ours)
    refused = ours.post("/v1/documents", files={"file": ("b.txt", b"y" * 600)})
    assert refused.status_code == 413 and refused.json()["error"]["code"] == "storage_quota"
    assert ours.get("/v1/usage").json()["storage"] == {"bytes": 750, "limit": 1_000}
    assert ours.post("/v1/search", json={"query": "storks"}).json()["hits"]
    assert keyed.add("b.txt", "Cranes dance. " * 50, theirs)
    assert ours.delete(f"/v1/documents/{document}").status_code == 200
    assert keyed.add("b.txt", "Ravens remember. " * 50, ours)
    spool = keyed.app.state.tenants.folder / "spool"
    assert not list(spool.iterdir())


def test_only_so_many_libraries_are_open_at_once(keyed: Running) -> None:
    clients = [client_of(keyed, f"tenant{n}") for n in range(6)]
    for number, client in enumerate(clients):
        keyed.add("a.txt", f"The number of this tenant is {number}.", client)
    for _ in range(2):
        for number, client in enumerate(clients):
            hits = client.post("/v1/search", json={"query": "number of this tenant"}).json()["hits"]
            assert [hit["text"] for hit in hits] == [f"The number of this tenant is {number}."]
            assert keyed.app.state.tenants.count_open() <= 2


def test_a_revoked_key_has_no_websocket_any_more(keyed: Running) -> None:
    from websockets.sync.client import connect

    key, kept = keyed.app.state.keys.create("a")
    place = keyed.address.replace("http", "ws") + "/v1/ws"
    with connect(place, proxy=None, additional_headers={"Authorization": f"Bearer {key}"}) as client:
        client.send(json.dumps({"type": "ask", "question": "Anything?"}))
        while json.loads(client.recv(timeout=20))["type"] != "done":
            pass
        keyed.app.state.keys.revoke(kept.id)
        client.send(json.dumps({"type": "ask", "question": "Anything?"}))
        assert json.loads(client.recv(timeout=20))["error"]["code"] == "unauthorized"


# ── secrets


def test_keys_questions_and_texts_stay_out_of_logs_and_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from provider import ScriptedProvider, status

    secret, text, question = "sk-canary-4711", "canarytext", "canaryquestion"
    caplog.set_level("INFO", logger="footnotes")
    with ScriptedProvider(status(401, f'{{"error": {{"message": "bad key {secret}"}}}}')) as provider:
        settings = {"model": "openai:x", "openai_base_url": provider.base_url, "openai_api_key": secret, "strict": True}
        with serving(tmp_path / "library", **settings) as running:
            running.add("a.txt", f"The {text} is in the vault. " * 3)
            answers = [
                running.client.post("/v1/ask", json={"question": f"Where is the {text} of {question}?"}),
                running.client.post("/v1/search", json={"query": question, "reranker": "llm"}),
                running.client.get("/metrics"),
                running.client.get("/v1/status"),
                running.client.get("/openapi.json"),
                running.client.post("/v1/documents", json={"text": text, "unknown": secret}),
            ]
            job = running.client.post("/v1/documents", files={"file": ("bad.pdf", b"%PDF canarytext")}).json()["jobs"][
                0
            ]
            settled(running.client, job["id"])
    assert provider.requests and answers[0].status_code >= 400
    assert not any(secret in answer.text for answer in answers)
    said = " ".join(str(vars(record)) for record in caplog.records)
    assert "request" in said and not any(word in said for word in (secret, text, question))
    kept = b"".join(path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file())
    assert secret.encode() not in kept and os.fsencode(text) in kept
