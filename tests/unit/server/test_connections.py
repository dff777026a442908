"""Connections are bounded in number and in time, whatever their clients do. Everything here is real sockets."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Running, serving

HOST = b"Host: 127.0.0.1\r\n"


def connected(running: Running) -> socket.socket:
    host, port = running.address.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)))
    client.settimeout(10)
    return client


def response(client: socket.socket) -> bytes:
    """Head and body of a response with a length."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        block = client.recv(65536)
        assert block, answer
        answer += block
    head, _, body = answer.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def is_ended(client: socket.socket) -> bool:
    """Whether the other side has ended the connection for good: neither gives nor takes anything any more."""
    try:
        client.settimeout(0.05)
        if client.recv(1000) != b"":
            return False
        client.sendall(b"x")
        time.sleep(0.05)
        client.sendall(b"x")
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def drip(client: socket.socket, piece: bytes, seconds: float = 8.0) -> bool:
    """Send a little now and then; whether the other side ends the connection meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            client.sendall(piece)
        if is_ended(client):
            return True
        time.sleep(0.2)
    return False


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"serve_body_seconds": 0.5, "serve_body_bytes": 10_000, "serve_header_seconds": 2.0}
    with serving(tmp_path_factory.mktemp("connections") / "library", needs_keys=True, **settings) as running:
        yield running


def request(path: bytes, key: str | None, length: int) -> bytes:
    sent = b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    if key:
        sent += b"Authorization: Bearer " + key.encode() + b"\r\n"
    return sent + b"Content-Length: %d\r\n\r\n" % length


@pytest.mark.parametrize(
    ("path", "has_key", "length", "status"),
    [
        (b"/v1/search", False, 5_000, b"401"),
        (b"/nothing", True, 5_000, b"404"),
        (b"/v1/search", True, 5_000, b"408"),
        (b"/v1/search", True, 50_000_000, b"413"),
        (b"/healthz", False, 5_000, b"405"),
    ],
)
def test_a_request_that_goes_on_after_its_response_is_cut_off(
    keyed: Running, path: bytes, has_key: bool, length: int, status: bytes
) -> None:
    key = keyed.app.state.keys.create("a", scopes=("read", "write"))[0] if has_key else None
    with connected(keyed) as client:
        client.sendall(request(path, key, length))
        answer = response(client)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"\r\nconnection: close\r\n" in answer, "a client that is not told sends its next request here"
        assert drip(client, b" ")


def test_empty_lines_keep_no_connection_open(keyed: Running) -> None:
    with connected(keyed) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert response(client).startswith(b"HTTP/1.1 200")
        assert drip(client, b"\r\n")


def test_a_request_that_is_complete_leaves_the_connection_open(keyed: Running) -> None:
    with connected(keyed) as client:
        for _ in range(3):
            client.sendall(request(b"/v1/search", None, 10) + b"0123456789")
            answer = response(client)
            assert answer.startswith(b"HTTP/1.1 401") and b"connection: close" not in answer
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert response(client).startswith(b"HTTP/1.1 200")


def test_a_client_that_is_still_sending_sees_its_response(keyed: Running) -> None:
    """A reset for what was not read would take the response away."""
    with connected(keyed) as client:
        client.sendall(request(b"/v1/search", None, 9_000) + b"x" * 4_000)
        time.sleep(0.3)
        with contextlib.suppress(OSError):
            client.sendall(b"x" * 4_000)
        assert response(client).startswith(b"HTTP/1.1 401")


def test_so_many_connections_of_one_address(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_address_connections=4) as running:
        held = [connected(running) for _ in range(4)]
        for client in held:
            client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            assert response(client).startswith(b"HTTP/1.1 200")
        with connected(running) as refused:
            answer = response(refused)
            assert answer.startswith(b"HTTP/1.1 503") and b"server_busy" in answer
            assert is_ended(refused) or drip(refused, b" ")
        held.pop().close()
        eventually_open(running, 3)
        assert running.client.get("/healthz").status_code == 200
        for client in held:
            client.close()


def test_so_many_connections_in_all(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_connections=3) as running:
        held = [connected(running) for _ in range(3)]
        eventually_open(running, 3)
        with connected(running) as refused:
            assert response(refused).startswith(b"HTTP/1.1 503")
        for client in held:
            client.close()
        eventually_open(running, 0)
        assert running.client.get("/healthz").status_code == 200


def test_a_websocket_counts_until_it_is_closed(tmp_path: Path) -> None:
    from websockets.sync.client import connect

    with serving(tmp_path / "library", serve_address_connections=2) as running:
        for _ in range(5):
            with connect(running.address.replace("http", "ws") + "/v1/ws", proxy=None):
                assert running.connections.open == 1
            eventually_open(running, 0)


def test_a_client_that_reads_nothing_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_send_seconds=0.5) as running:
        unseen = "<!-- " + "x" * 1_000_000 + " -->"
        document = running.add("long.html", "<p>Storks winter in Africa.</p>" + unseen * 16)
        running.client.close()
        eventually_open(running, 0)
        with connected(running) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(f"GET /v1/documents/{document}/content HTTP/1.1\r\n".encode() + HOST + b"\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200")
            eventually_open(running, 0)


def eventually_open(running: Running, count: int) -> None:
    end = time.monotonic() + 15
    while running.connections.open != count:
        assert time.monotonic() < end, running.connections.open
        time.sleep(0.02)
