"""JSON bodies are bounded before anything is made of them, and large ones are read beside the event loop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serving import Running, serving

JSON = {"Content-Type": "application/json"}
LIMIT = 5_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("bodies") / "library", serve_json_nodes=LIMIT) as running:
        running.add("a.txt", "Storks winter in Africa.")
        yield running


def items(count: int, item: str = "{}") -> str:
    return "[" + ",".join([item] * count) + "]"


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/documents", "/rag/search", "/v1/chat/completions"])
@pytest.mark.parametrize(
    "written",
    [
        f'{{"query": "storks", "where": {items(300_000)}}}',
        f'{{"query": "storks", "where": {items(10_000, "[]")}}}',
        f'{{"query": "storks", "where": {items(10_000, "1")}}}',
        '{"query": "storks", "where": {' + ",".join(f'"k{n}": 1' for n in range(10_000)) + "}}",
        items(10_000, '"\\\\\\", {[,"'),
    ],
)
def test_a_body_of_many_values_is_refused_before_it_is_read(server: Running, path: str, written: str) -> None:
    answer = server.client.post(path, content=written, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "request_invalid"
    assert f"{LIMIT:,} values" in answer.json()["error"]["message"]


def test_thirty_megabytes_of_braces_are_refused(server: Running) -> None:
    answer = server.client.post("/v1/search", content=f'{{"where": {items(10_000_000)}}}', headers=JSON)
    assert answer.status_code == 422 and "values" in answer.json()["error"]["message"]


def test_metadata_of_a_form_is_bounded_too(server: Running) -> None:
    data = {"metadata": json.dumps({f"k{n}": 1 for n in range(10_000)})}
    answer = server.client.post("/v1/documents", files={"file": ("b.txt", b"x")}, data=data)
    assert answer.status_code == 422 and "values" in answer.json()["error"]["message"]


def test_tools_and_sockets_are_bounded_too(server: Running) -> None:
    from websockets.sync.client import connect

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": [{}] * 10_000}}
    answer = server.client.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == 422 and "values" in answer.json()["error"]["message"]
    with connect(server.address.replace("http", "ws") + "/v1/ws", proxy=None) as client:
        client.send(json.dumps({"type": "ask", "question": "a", "where": [{}] * 10_000}))
        said = json.loads(client.recv(timeout=20))
    assert said["error"]["code"] == "request_invalid" and "values" in said["error"]["message"]


def test_texts_full_of_commas_are_no_values(server: Running) -> None:
    """What stands inside a string does not count, however it is escaped."""
    text = 'one, two, [three], {four}: "five" \\ ' * 5_000
    answer = server.client.post("/rag/index", json={"filename": "commas.txt", "content": text})
    assert answer.status_code == 200, answer.text
    found = server.client.get(f"/v1/documents/{answer.json()['id']}/text").json()["text"]
    assert found.strip() == text.strip()
