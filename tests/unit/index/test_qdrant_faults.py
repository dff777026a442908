"""A Qdrant that is down, refuses, belongs to somebody else or is not one: what is said, and how soon."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from footnotes.errors import (
    IndexFailed,
    IndexForeign,
    IndexMismatch,
    IndexMissing,
    IndexRefused,
    IndexUnavailable,
)
from footnotes.index import Change, Entry, Facets
from footnotes.index.qdrant import QdrantDatabase, QdrantIndex
from footnotes.index.qdrant import calls as qdrant_calls
from footnotes.index.remote import Scope
from footnotes.settings import Settings
from qdrant import QdrantServer, asked, opened, running

pytestmark = pytest.mark.slow

D = 8
KEY = "a-key-that-nobody-may-read"
SCOPE = Scope("0123456789abcdef" * 2, "ann", 1, "mini", D)
VECTOR = np.full(D, D**-0.5, dtype=np.float32)
CHANGES = [Change(1, 1, [Entry(n, 1, vector=VECTOR.astype(np.float16).tobytes(), weights={1: 1.0}) for n in range(5)])]
_NUMBERS = itertools.count(1)


@pytest.fixture
def prefix() -> str:
    return f"f{next(_NUMBERS)}"


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_calls, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(qdrant_calls, "LONGEST_WAIT", 0.05)


def every_call(index: QdrantIndex) -> list[Any]:
    return [
        index.refresh,
        index.keys,
        index.promote,
        index.clear,
        lambda: index.search(VECTOR, 3),
        lambda: index.search({1: 1.0}, 3),
        lambda: index.score({1: 1.0}, [1]),
        lambda: index.search(Facets(["a"]), 3).keys,
        lambda: index.remove([1]),
        lambda: index.apply(CHANGES, position=1),
    ]


def said(error: IndexFailed, database: QdrantDatabase) -> str:
    """The message, which must name the address, be one sentence and hold no key."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    assert not any(KEY in f"{one}{one!r}" for one in chain)
    assert database.address in error.message
    assert "\n" not in error.message and error.remedy
    return error.message


# ── down


def test_nobody_there(prefix: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: refused for certain
        address = f"qdrant://127.0.0.1:{held.getsockname()[1]}/{prefix}"
        for number in range(10):
            database = QdrantDatabase.opened(Settings(index=address, index_api_key=KEY))
            with pytest.raises(IndexUnavailable, match="cannot be reached") as caught:
                every_call(database.index(SCOPE))[number]()
            said(caught.value, database)
            database.close()


def test_a_dead_server_is_asked_once_and_then_left_alone_for_a_while(
    qdrant_server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_calls, "COOLING_SECONDS", 0.5)
    with running() as server:
        database = opened(server, "dead", index_seconds=1.0)
        index = database.index(SCOPE)
        index.apply(CHANGES, position=1)
        server.pause()  # it takes connections and never answers
        with pytest.raises(IndexUnavailable, match="did not answer within 1 s"):
            index.search(VECTOR, 3)
        for call in every_call(index):
            with pytest.raises(IndexUnavailable, match="the next attempt is in") as caught:
                call()
            said(caught.value, database)
        server.resume()
        time.sleep(3.2)  # three times as long as it was waited for
        assert len(index.search(VECTOR, 3).keys) == 3
        assert index.refresh() == 1
        database.close()


def test_what_was_written_outlives_the_server(qdrant_server: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_calls, "COOLING_SECONDS", 0.05)
    with running() as server:
        database = opened(server, "again")
        index = database.index(SCOPE)
        index.apply(CHANGES, position=4)
        server.kill()
        with pytest.raises(IndexUnavailable):
            index.search(VECTOR, 3)
        with pytest.raises(IndexUnavailable):
            time.sleep(0.06)
            index.apply(CHANGES, position=5)
        server.start()
        time.sleep(0.06)
        assert len(index.search(VECTOR, 9).keys) == 5
        assert index.refresh() == 4
        index.apply([Change(6, 1, [Entry(77, 1)])], position=6)
        assert index.keys().tolist() == [77]
        database.close()


def test_connections_that_were_kept_open_over_a_restart_are_no_failure(qdrant_server: QdrantServer) -> None:
    with running() as server:
        database = opened(server, "kept")
        index = database.index(SCOPE)
        index.apply(CHANGES, position=4)
        server.kill()
        server.start()
        assert len(index.search(VECTOR, 9).keys) == 5
        database.close()


def test_a_server_that_comes_back_in_the_middle_of_a_run_is_waited_for(
    qdrant_server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_calls, "FIRST_WAIT", 2.0)
    monkeypatch.setattr(qdrant_calls, "LONGEST_WAIT", 3.0)
    monkeypatch.setattr(qdrant_calls, "WRITE_ATTEMPTS", 30)
    with running() as server:
        database = opened(server, "middle")
        index = database.index(SCOPE)
        index.apply([], position=1)

        restart = threading.Timer(0.3, server.start)

        def interrupted() -> Iterator[Change]:
            yield CHANGES[0]
            server.kill()
            restart.start()
            yield Change(2, 2, [Entry(9, 2)])

        index.apply(interrupted(), position=2)
        restart.join()
        assert index.keys().tolist() == [0, 1, 2, 3, 4, 9]
        assert index.refresh() == 2
        database.close()


# ── refused


def test_a_wrong_key_is_refused_and_never_repeated(qdrant_server: QdrantServer) -> None:
    with running(api_key=KEY) as server:
        right = opened(server, "keys")
        right.index(SCOPE).apply(CHANGES, position=1)
        assert right.index(SCOPE).refresh() == 1
        for wrong in ("", KEY + "x"):
            for options in ({}, {"grpc_port": server.grpc_port}):
                database = opened(server, "keys", index_api_key=wrong, index_options=options)
                for call in every_call(database.index(SCOPE)):
                    with pytest.raises(IndexRefused) as caught:
                        call()
                    said(caught.value, database)
                database.close()
        grpc = opened(server, "keys", index_options={"grpc_port": server.grpc_port})
        assert grpc.index(SCOPE).refresh() == 1
        assert KEY not in repr(vars(right)) + repr(right._calls.endpoint)
        right.close()
        grpc.close()


# ── somebody else's


def name_of(prefix: str) -> str:
    return f"{prefix}-{SCOPE.model}"


def make(server: QdrantServer, prefix: str, *, size: int = D, distance: str = "Cosine", points: Any = ()) -> None:
    """A collection of our name, made by another program."""
    from qdrant_client import models

    with asked(server) as client:
        client.create_collection(
            name_of(prefix),
            vectors_config={"dense": models.VectorParams(size=size, distance=models.Distance(distance))},
            sparse_vectors_config={"lexical": models.SparseVectorParams()},
        )
        if points:
            client.upsert(name_of(prefix), list(points), wait=True)


@pytest.mark.parametrize("write", [lambda index: index.apply(CHANGES, position=1), lambda index: index.promote()])
def test_other_vectors_are_a_mismatch(qdrant_server: QdrantServer, prefix: str, write: Any) -> None:
    make(qdrant_server, prefix, size=D + 1)
    database = opened(qdrant_server, prefix)
    with pytest.raises(IndexMismatch, match="9 numbers compared by cosine, where 8") as caught:
        write(database.index(SCOPE))
    said(caught.value, database)
    with pytest.raises(IndexMismatch, match="another length"):
        database.index(SCOPE).search(VECTOR, 3)
    database.close()


def test_another_distance_is_a_mismatch(qdrant_server: QdrantServer, prefix: str) -> None:
    make(qdrant_server, prefix, distance="Dot")
    database = opened(qdrant_server, prefix)
    with pytest.raises(IndexMismatch, match="compared by dot") as caught:
        database.index(SCOPE).apply(CHANGES, position=1)
    said(caught.value, database)
    database.close()


def test_words_weighed_by_the_server_are_a_mismatch(qdrant_server: QdrantServer, prefix: str) -> None:
    from qdrant_client import models

    with asked(qdrant_server) as client:
        client.create_collection(
            name_of(prefix),
            vectors_config={"dense": models.VectorParams(size=D, distance=models.Distance.COSINE)},
            sparse_vectors_config={"lexical": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
    with pytest.raises(IndexMismatch, match="weighs words"):
        opened(qdrant_server, prefix).index(SCOPE).apply(CHANGES, position=1)


def test_a_collection_of_another_shape_is_foreign(qdrant_server: QdrantServer, prefix: str) -> None:
    from qdrant_client import models

    with asked(qdrant_server) as client:
        config = models.VectorParams(size=D, distance=models.Distance.COSINE)
        client.create_collection(name_of(prefix), vectors_config=config)
    database = opened(qdrant_server, prefix)
    with pytest.raises(IndexForeign, match="other vectors") as caught:
        database.index(SCOPE).apply(CHANGES, position=1)
    said(caught.value, database)
    database.close()


def test_points_of_others_are_foreign_and_left_alone(qdrant_server: QdrantServer, prefix: str) -> None:
    from qdrant_client import models

    theirs = [models.PointStruct(id=1, vector={"dense": VECTOR.tolist()}, payload={"tenant": "x", "text": "theirs"})]
    make(qdrant_server, prefix, points=theirs)
    database = opened(qdrant_server, prefix)
    index = database.index(SCOPE)
    with pytest.raises(IndexForeign, match="did not fill") as caught:
        index.apply(CHANGES, position=1)
    said(caught.value, database)
    assert index.refresh() == 0 and index.search(VECTOR, 3).keys == []
    index.clear()
    with asked(qdrant_server) as client:
        assert client.count(name_of(prefix), exact=True).count == 1
    database.close()


def test_points_of_others_in_a_collection_of_ours_are_foreign(qdrant_server: QdrantServer, prefix: str) -> None:
    from qdrant_client import models

    opened(qdrant_server, prefix).index(SCOPE).apply(CHANGES, position=1)
    with asked(qdrant_server) as client:
        client.upsert(name_of(prefix), [models.PointStruct(id=5, vector={}, payload={"text": "theirs"})], wait=True)
    with pytest.raises(IndexForeign, match="not of Footnotes"):
        opened(qdrant_server, prefix).index(SCOPE).apply(CHANGES, position=2)


def test_an_empty_collection_of_our_shape_is_taken(qdrant_server: QdrantServer, prefix: str) -> None:
    """That is what a server before 1.16, or one that died while it was made, leaves."""
    make(qdrant_server, prefix)
    opened(qdrant_server, prefix).index(SCOPE).apply(CHANGES, position=1)
    with asked(qdrant_server) as client:
        assert client.get_collection(name_of(prefix)).config.metadata == {"footnotes": {"format": 1}}
        client.update_collection(name_of(prefix), metadata={"footnotes": None})
    opened(qdrant_server, prefix).index(SCOPE).apply(CHANGES, position=2)


def test_an_alias_that_is_somebodys_collection_is_foreign(qdrant_server: QdrantServer, prefix: str) -> None:
    with asked(qdrant_server) as client:
        client.create_collection(f"{prefix}.{SCOPE.tenant}", vectors_config={})
    with pytest.raises(IndexForeign):
        opened(qdrant_server, prefix).index(SCOPE).promote()


# ── gone


def test_a_collection_that_is_gone_is_said_to_be_and_made_anew(qdrant_server: QdrantServer, prefix: str) -> None:
    database = opened(qdrant_server, prefix)
    index = database.index(SCOPE)
    with pytest.raises(IndexMissing):
        index.search(VECTOR, 3)
    assert index.refresh() == 0 and index.keys().tolist() == []
    index.apply(CHANGES, position=1)
    with asked(qdrant_server) as client:
        client.delete_collection(name_of(prefix))
    for call in (
        lambda: index.search(VECTOR, 3),
        lambda: index.search({1: 1.0}, 3),
        lambda: index.search(Facets(["a"]), 3).keys,
    ):
        with pytest.raises(IndexMissing) as caught:
            call()
        said(caught.value, database)
    with pytest.raises(IndexMissing):
        index.apply([Change(2, 2, [Entry(50, 2)])], position=2)  # only what is new: the rest would be missing
    assert index.refresh() == 0
    index.apply(CHANGES, position=2)
    assert len(index.search(VECTOR, 9).keys) == 5

    def gone_meanwhile() -> Iterator[Change]:
        with asked(qdrant_server) as client:
            client.delete_collection(name_of(prefix))
        yield Change(3, 3, [Entry(60, 3)])

    with pytest.raises(IndexMissing):
        index.apply(gone_meanwhile(), position=3)
    assert index.position == 0
    database.close()


# ── not a Qdrant at all


@contextmanager
def pretender(
    status: int, body: bytes, headers: dict[str, str] | None = None, fail_first: int = 0
) -> Iterator[list[str]]:
    """A server that answers everything alike; yields its address, then the paths it was asked for."""
    calls: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            calls.append(self.path)
            if len(calls) - 1 <= fail_first and fail_first:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_DELETE = do_PATCH = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    calls.append(f"qdrant://127.0.0.1:{server.server_port}/p")
    try:
        yield calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "tries"),
    [
        (200, b"<html>hello</html>", {}, IndexUnavailable, 4),
        (200, b"\xff\xfe", {}, IndexUnavailable, 4),
        (200, b"[]", {}, IndexUnavailable, 4),
        (200, b'{"hello": "world"}', {}, IndexUnavailable, 4),
        (404, b"<html>hello</html>", {}, IndexUnavailable, 4),
        (502, b"Bad Gateway", {}, IndexUnavailable, 4),
        (500, b'{"status":{"error":"Service internal error: disk"}}', {}, IndexUnavailable, 4),
        (503, b'{"status":{"error":"not now"}}', {}, IndexUnavailable, 4),
        (429, b'{"status":{"error":"too many"}}', {"Retry-After": "60"}, IndexUnavailable, 4),
        (429, b'{"status":{"error":"too many"}}', {}, IndexUnavailable, 4),
        (403, b'{"status":{"error":"Forbidden: Global manage access is required"}}', {}, IndexRefused, 1),
        (413, b"too large", {}, IndexFailed, 1),
        (400, b'{"status":{"error":"Bad request: nonsense a-key-that-nobody-may-read"}}', {}, IndexFailed, 1),
    ],
)  # fmt: skip
def test_odd_answers_are_named(
    status: int, body: bytes, headers: dict[str, str], kind: type[IndexFailed], tries: int
) -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    with pretender(status, body, headers) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0], index_api_key=KEY))
        with pytest.raises(kind) as caught:
            database.index(SCOPE).search(VECTOR, 3)
        assert type(caught.value) is kind
        assert database.address in caught.value.message and KEY not in caught.value.message
        assert len(calls) - 1 == 1  # a search does not wait for better times
        with pytest.raises(kind):
            database.index(SCOPE).remove([1])
        assert len(calls) - 2 == tries
        database.close()


def _points(*points: str) -> bytes:
    return f'{{"result":{{"points":[{",".join(points)}]}},"status":"ok","time":0.1}}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        _points('{"id":"not-one-of-ours","version":1,"score":0.5}'),
        _points('{"id":"","version":1,"score":0.5}'),
        _points('{"id":7,"version":1,"score":0.5}'),
        _points('{"id":"01234567-89ab-cdef-0000-000000000001","version":1,"score":NaN}'),
        _points('{"id":"01234567-89ab-cdef-0000-000000000001","version":1,"score":1e999}'),
        b'{"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["id", "no id", "number", "nan", "infinity", "depth"],
)
def test_answers_that_cannot_be_believed_are_a_failure_of_the_leg(body: bytes) -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    with pretender(200, body) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0]))
        with pytest.raises(IndexUnavailable, match="not from a Qdrant"):
            database.index(SCOPE).search(VECTOR, 3)
        if b"score" not in body or b"0.5" in body:
            with pytest.raises(IndexUnavailable, match="not from a Qdrant"):
                database.index(SCOPE).keys()
        database.close()


def test_no_more_is_taken_than_was_asked_for() -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    point = '{{"id":"01234567-89ab-cdef-0000-{:012x}","version":1,"score":0.5}}'
    with pretender(200, _points(*(point.format(number) for number in range(50)))) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0]))
        assert database.index(SCOPE).search(VECTOR, 3).keys == [0, 1, 2]
        database.close()


@pytest.mark.parametrize("endless", ["bytes", "pages"])
def test_answers_without_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, endless: str) -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    monkeypatch.setattr(qdrant_calls, "MAX_BODY", 10_000)
    page = b'{"result":{"points":[{"id":7,"payload":null}],"next_page_offset":7},"status":"ok","time":0.1}'
    with pretender(200, b" " * 20_000 if endless == "bytes" else page) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0]))
        with pytest.raises(IndexUnavailable, match="not from a Qdrant"):
            database.index(SCOPE).clear()
        database.close()


def test_an_answer_that_comes_in_drops_ends_in_time() -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n")
            while not stop.wait(0.1):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    dripping = threading.Thread(target=drip)
    dripping.start()
    database = QdrantDatabase.opened(
        Settings(index=f"qdrant://127.0.0.1:{listener.getsockname()[1]}", index_seconds=1.0)
    )
    try:
        with pytest.raises(IndexUnavailable, match="did not answer within 1 s"):
            database.index(SCOPE).search(VECTOR, 3)
    finally:
        stop.set()
        database.close()
        dripping.join()
        listener.close()


def test_a_connection_that_is_cut_is_tried_once_more_at_once() -> None:
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    answer = b'{"result":{"points":[]},"status":"ok","time":0.1}'
    with pretender(200, answer, fail_first=1) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0]))
        assert database.index(SCOPE).search(VECTOR, 3).keys == []
        assert len(calls) - 1 == 2
        database.close()
    with pretender(200, answer, fail_first=5) as calls:
        database = QdrantDatabase.opened(Settings(index=calls[0]))
        with pytest.raises(IndexUnavailable, match="broke off"):
            database.index(SCOPE).search(VECTOR, 3)
        assert len(calls) - 1 == 2
        database.close()


def test_what_is_nested_too_deep_is_left_out(qdrant_server: QdrantServer, prefix: str) -> None:
    """A library of an older version may have it: everything else must still be brought."""
    deep: dict[str, Any] = {"said": True}
    for _ in range(400):
        deep = {"a": deep}
    database = opened(qdrant_server, prefix)
    index = database.index(SCOPE)
    entries = [Entry(n, 1, vector=VECTOR.astype(np.float16).tobytes(), metadata={"metadata": deep}) for n in range(2)]
    index.apply([Change(1, 1, entries)], position=1)
    assert index.keys().tolist() == [0, 1]
    database.close()
