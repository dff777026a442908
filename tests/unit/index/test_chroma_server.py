"""A Chroma server that is away, guarded, slow, or none at all."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from chroma import ChromaServer
from chroma_indexes import Places, changes, scope, vectors
from footnotes.errors import IndexFailed, IndexRefused, IndexUnavailable
from footnotes.index.chroma import ChromaDatabase
from footnotes.index.chroma import server as under_test
from footnotes.settings import Settings

pytestmark = pytest.mark.slow

pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
KEY = "k3y-0f-mine"


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a small server of our own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"chroma://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    status, body, kind = 200, b"<html>", "text/html"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.reply(self.status, self.body, self.kind)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def reply(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def guarding(port: int, header: str, wanted: str) -> type[BaseHTTPRequestHandler]:
    """A proxy that lets pass who has the key, and tells others what they sent."""

    class Guard(Quiet):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get(header) != wanted:
                self.reply(401, f"no entry with {self.headers.get(header)}".encode(), "text/plain")
                return
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request(self.command, self.path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            self.reply(answer.status, answer.read(), answer.headers["content-type"])
            connection.close()

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    return Guard


def said(error: pytest.ExceptionInfo[IndexFailed]) -> str:
    """All that anybody may come to see of an error."""
    chain: list[BaseException | None] = [error.value, error.value.__cause__]
    return " ".join(f"{one!s} {one!r}" for one in chain)


@pytest.mark.parametrize(
    ("header", "sent"), [("Authorization", f"Bearer {KEY}"), ("x-chroma-token", KEY)], ids=["bearer", "token"]
)
def test_a_key_opens_what_is_guarded_and_is_never_told(chroma_server: ChromaServer, header: str, sent: str) -> None:
    options = {"auth_header": header}
    with answering(guarding(chroma_server.port, header, sent)) as address:
        right = ChromaDatabase.opened(Settings(index=address, index_api_key=KEY, index_options=options))
        index = right.index(scope(f"guarded-{header}"))
        index.apply(changes(vectors(10)), position=1)
        assert len(index.keys()) == 10
        index.clear()
        right.close()
        for key, message in ((f"{KEY}-not", "does not accept the key"), ("", "wants a key")):
            wrong = ChromaDatabase.opened(Settings(index=address, index_api_key=key, index_options=options))
            with pytest.raises(IndexRefused, match=message) as caught:
                wrong.index(scope()).refresh()
            assert KEY not in said(caught) and wrong.address in caught.value.message
            with pytest.raises(IndexRefused):  # a refusal is an answer: the circuit stays closed
                wrong.index(scope()).search(vectors(1)[0], 1)
            wrong.close()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>", "text/html"),
        (404, b"<html>", "text/html"),
        (404, b"[1]", "application/json"),
        (302, b"", "text/html"),
        (503, b"busy", "text/plain"),
        (500, f"token: {KEY}".encode(), "text/plain"),
    ],
)
def test_what_is_no_chroma(status: int, body: bytes, kind: str) -> None:
    handler = type("Other", (Quiet,), {"status": status, "body": body, "kind": kind})
    with answering(handler) as address:
        database = ChromaDatabase.opened(Settings(index=address, index_api_key=KEY))
        with pytest.raises(IndexUnavailable, match=r"is no Chroma|cannot serve now") as caught:
            database.index(scope()).refresh()
        assert KEY not in said(caught) and database.address in caught.value.message
        database.close()


def test_json_of_something_else() -> None:
    handler = type("Other", (Quiet,), {"body": b'{"hello": 1}', "kind": "application/json"})
    with answering(handler) as address:
        database = ChromaDatabase.opened(Settings(index=address))
        with pytest.raises(IndexFailed, match="failed"):
            database.index(scope()).refresh()
        database.close()


def test_a_server_that_is_down_costs_little_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ChromaServer(tmp_path)
    server.start()
    places = Places(server=server)
    try:
        rows = vectors(1_500)
        database = places.database(index_api_key=KEY)
        index = database.index(scope())
        index.apply(changes(rows), position=4)
        before = index.search(rows[7], 10).keys
        server.kill()
        with pytest.raises(IndexUnavailable, match=r"cannot be reached|broke off") as caught:
            index.search(rows[0], 1)
        assert caught.value.retryable and database.address in caught.value.message and KEY not in said(caught)
        with pytest.raises(IndexUnavailable, match="the next attempt is in"):
            index.search(rows[0], 1)
        assert index.position == 4
        server.start()
        now = time.monotonic()
        monkeypatch.setattr(database._connection._circuit, "_clock", lambda: now + under_test.COOLING_SECONDS + 1)  # type: ignore[attr-defined]
        assert index.search(rows[7], 10).keys == before
        assert index.refresh() == 4 and len(index.keys()) == 1_500
    finally:
        places.close()
        server.kill()


def test_one_that_is_killed_while_it_is_filled_is_filled_again(tmp_path: Path) -> None:
    server = ChromaServer(tmp_path)
    server.start()
    places = Places(server=server)
    try:
        rows = vectors(600)
        index = places.database(index_options={"batch": 50}).index(scope())
        index.apply(changes(rows[:200]), position=1)

        def killed() -> Iterator[Any]:
            for number, change in enumerate(changes(rows, seq=2)):
                if number == 40:
                    server.kill()
                yield change

        with pytest.raises(IndexUnavailable):
            index.apply(killed(), position=2)
        server.start()
        again = places.database().index(scope())
        assert again.refresh() == 1
        again.apply(changes(rows, seq=2), position=2)
        assert again.refresh() == 2 and again.keys().tolist() == list(range(1, 601))
        assert all(again.search(rows[key - 1], 1).keys == [key] for key in range(1, 601, 50))
    finally:
        places.close()
        server.kill()


def test_one_that_never_answers_is_given_up() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"chroma://127.0.0.1:{deaf.getsockname()[1]}"
        database = ChromaDatabase.opened(Settings(index=address, index_seconds=0.2))
        with pytest.raises(IndexUnavailable, match="did not answer in time"):
            database.index(scope()).refresh()
        with pytest.raises(IndexUnavailable, match="next attempt"):
            database.index(scope()).refresh()
        database.close()


def test_settings_of_others_are_not_ours(
    chroma_server: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("CHROMA_SERVER_HOST=elsewhere\nIS_PERSISTENT=maybe\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    database = ChromaDatabase.opened(Settings(index=chroma_server.address))
    assert database.index(scope("nobody")).refresh() == 0
    database.close()
