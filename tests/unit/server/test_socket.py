"""The WebSocket, metrics and logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from serving import Running, serving


def until_done(socket: ClientConnection) -> list[dict[str, Any]]:
    events = []
    while not events or events[-1]["type"] not in ("done", "error"):
        events.append(json.loads(socket.recv(timeout=20)))
    return events


def test_questions_over_a_websocket(shared: Running) -> None:
    address = shared.address.replace("http", "ws") + "/v1/ws"
    with connect(address, proxy=None) as socket:
        for number, (question, part) in enumerate(
            (("How long is the notice period?", "three months"), ("What may hotels cost?", "140"))
        ):
            socket.send(json.dumps({"type": "ask", "id": number, "question": question}))
            events = until_done(socket)
            assert part in events[-1]["answer"]["answer"] and {event["id"] for event in events} == {number}
        socket.send(json.dumps({"type": "stop"}))
        socket.send(json.dumps({"type": "ask", "question": ""}))
        assert until_done(socket)[-1]["error"]["code"] == "query_empty"
        socket.send("nonsense")
        assert until_done(socket)[-1]["error"]["code"] == "request_invalid"
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20)


def test_a_websocket_needs_a_key_too(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        key, _ = running.app.state.keys.create("a")
        address = running.address.replace("http", "ws") + "/v1/ws"
        with connect(address, proxy=None) as socket:
            socket.send(json.dumps({"type": "key", "key": "wrong"}))
            assert until_done(socket)[-1]["error"]["code"] == "unauthorized"
        with connect(address, proxy=None) as socket:
            socket.send(json.dumps({"type": "key", "key": key}))
            socket.send(json.dumps({"type": "ask", "question": "Anything?"}))
            assert until_done(socket)[-1]["type"] == "done"
        with connect(address, proxy=None, additional_headers={"Authorization": f"Bearer {key}"}) as socket:
            socket.send(json.dumps({"type": "ask", "question": "Anything?"}))
            assert until_done(socket)[-1]["type"] == "done"


def test_a_page_of_another_origin_gets_no_websocket(shared: Running) -> None:
    address = shared.address.replace("http", "ws") + "/v1/ws"
    with pytest.raises(Exception, match="403"), connect(address, proxy=None, origin="https://evil.example"):  # type: ignore[arg-type]
        pass


def test_what_is_no_origin_at_all_is_refused(shared: Running) -> None:
    assert shared.client.get("/v1/status", headers={"Origin": "http://["}).status_code == 403
    address = shared.address.replace("http", "ws") + "/v1/ws"
    with pytest.raises(Exception, match="403"), connect(address, proxy=None, origin="http://["):  # type: ignore[arg-type]
        pass


def test_bytes_over_a_websocket_are_refused(shared: Running) -> None:
    with connect(shared.address.replace("http", "ws") + "/v1/ws", proxy=None) as socket:
        socket.send(b"\x00\x01")
        assert until_done(socket)[-1]["error"]["code"] == "request_invalid"
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=20)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1003


def test_a_key_where_none_is_needed_does_no_harm(shared: Running) -> None:
    with connect(shared.address.replace("http", "ws") + "/v1/ws", proxy=None) as socket:
        socket.send(json.dumps({"type": "key", "key": "fn_a_b"}))
        socket.send(json.dumps({"type": "ask", "question": "How long is the notice period?"}))
        assert until_done(socket)[-1]["type"] == "done"


def test_half_a_character_in_a_key_is_no_key(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "library", needs_keys=True) as running,
        connect(running.address.replace("http", "ws") + "/v1/ws", proxy=None) as socket,
    ):
        socket.send('{"type": "key", "key": "fn_\\ud800_x"}')
        assert until_done(socket)[-1]["error"]["code"] == "unauthorized"


def test_metrics(shared: Running) -> None:
    shared.client.post("/v1/search", json={"query": "hotel"})
    shared.client.get("/nothing")
    text = shared.client.get("/metrics").text
    assert 'footnotes_searches_total{leg="dense",status="ok"}' in text
    assert 'footnotes_requests_total{method="POST",route="/v1/search",status="200"}' in text
    assert 'footnotes_errors_total{code="not_found"}' in text and "footnotes_queue_depth 0.0" in text
    assert (
        'footnotes_embedding_calls_total{role="query"}' in text
        and 'footnotes_embedded_texts_total{role="passage"}' in text
    )
    assert 'footnotes_documents_total{status="ready"}' in text
    assert 'footnotes_embedding_tokens_total{role="query"}' in text and "footnotes_chunks_total" in text


def test_answers_from_memory_are_counted(shared: Running) -> None:
    def hits() -> float:
        lines = shared.client.get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("footnotes_cache_hits_total ")))

    before, body = hits(), {"question": "How many days of paid leave does everybody have?"}
    for _ in range(3):
        shared.client.post("/v1/ask", json=body)
    assert hits() == before + 2


def test_how_a_search_went_is_said_at_debug(shared: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="footnotes")
    shared.client.post("/v1/search", json={"query": "canaryword hotel", "limit": 3})
    (said,) = [vars(record) for record in caplog.records if record.name == "footnotes.retrieve"]
    assert said["k"] == 3 and said["scores"] and said["legs"]["dense"]["ms"] >= 0 and "canaryword" not in str(said)
