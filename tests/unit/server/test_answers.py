"""Searching and asking over HTTP, and the one shape of errors."""

from __future__ import annotations

import errno
import json

import pytest

from serving import Running, events_of


def test_search_says_which_legs_ran(shared: Running) -> None:
    found = shared.client.post("/v1/search", json={"query": "hotel costs", "collection": "trips"}).json()
    assert [hit["filename"] for hit in found["hits"]] == ["travel.txt"]
    assert {leg["status"] for leg in found["legs"].values()} == {"ok"} and not found["degraded"]


def test_an_answer_has_footnotes_that_quote_the_text(shared: Running) -> None:
    answer = shared.client.post("/v1/ask", json={"question": "How long is the notice period?"}).json()
    (first, *_) = answer["citations"]
    text = shared.client.get(f"/v1/documents/{first['document_id']}/text").json()["text"]
    assert text[first["start"] : first["end"]] == first["quote"] and "three months" in answer["answer"]


def test_an_answer_as_events(shared: Running) -> None:
    body = {"question": "How many days of paid leave are there?"}
    with shared.client.stream("POST", "/v1/ask", json=body, headers={"Accept": "text/event-stream"}) as answer:
        events = [(name, json.loads(data)) for name, data in events_of(answer.iter_lines())]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert all(name == data["type"] for name, data in events)
    name, last = events[-1]
    assert name == "done" and "28 days" in last["answer"]["answer"]
    assert "".join(data["text"] for name, data in events if name == "token") == last["answer"]["answer"]


def test_a_conversation(shared: Running) -> None:
    history = [{"role": "user", "text": "How many days of paid leave are there?"}, {"role": "assistant", "text": "28."}]
    answer = shared.client.post("/v1/ask", json={"question": "When does it expire?", "history": history})
    assert "31 March" in answer.json()["answer"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/nothing", None, 404, "not_found"),
        ("GET", "/v1/documents/d0", None, 404, "not_found"),
        ("PATCH", "/v1/documents", None, 405, "method_not_allowed"),
        ("POST", "/v1/search", {"query": ""}, 422, "query_empty"),
        ("POST", "/v1/search", {"query": "x" * 1_000_000}, 422, "query_too_long"),
        ("POST", "/v1/search", {"query": "a", "limit": 0}, 422, "request_invalid"),
        ("POST", "/v1/search", {"query": "a", "unknown": 1}, 422, "request_invalid"),
        ("POST", "/v1/search", {"query": "a", "where": {"x": {"$nope": 1}}}, 422, "filter_invalid"),
        ("POST", "/v1/documents", {}, 422, "request_invalid"),
        ("POST", "/v1/ask", {"question": " "}, 422, "query_empty"),
    ],
)
def test_every_error_has_one_shape(
    shared: Running, method: str, path: str, body: dict[str, object] | None, status: int, code: str
) -> None:
    answer = shared.client.request(method, path, json=body, headers={"X-Request-ID": "mine-1"})
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code and error["message"] and error["remedy"]
    assert error["request_id"] == answer.headers["x-request-id"] == "mine-1"


@pytest.mark.parametrize(
    "raw", ["[" * 10_000, '{"query": ' + "9" * 1_000_000 + "}", '{"query": NaN}', '{"query"', "\x00"]
)
def test_odd_json_is_refused(shared: Running, raw: str) -> None:
    answer = shared.client.post("/v1/search", content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422) and answer.json()["error"]["code"] == "request_invalid"


def test_a_lone_surrogate_in_a_query_is_answered(shared: Running) -> None:
    raw = '{"query": "notice \\ud800 period"}'
    answer = shared.client.post("/v1/search", content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200 and answer.json()["hits"]


def test_failures_of_the_server_have_the_shape_too_and_quote_nothing(server: Running) -> None:
    def crash(full: bool = False) -> None:
        raise OSError(errno.ENOSPC, "secret") if full else ValueError("secret")

    server.app.api.add_api_route("/v1/crash", crash)
    answer = server.client.get("/v1/crash")
    assert answer.status_code == 500 and answer.json()["error"]["code"] == "internal_error"
    assert answer.json()["error"]["request_id"] == answer.headers["x-request-id"] and "secret" not in answer.text
    full = server.client.get("/v1/crash", params={"full": True})
    assert full.status_code == 507 and full.json()["error"]["code"] == "storage_full"


def test_a_wrong_method_is_told_the_right_ones(shared: Running) -> None:
    assert shared.client.put("/v1/documents/d0").headers["allow"] == "DELETE, GET, PATCH"
    assert shared.client.put("/v1/search").headers["allow"] == "POST"


def test_health_and_headers(shared: Running) -> None:
    assert shared.client.get("/healthz").json()["status"] == "ok"
    ready = shared.client.get("/readyz")
    assert ready.json()["status"] == "ready"
    assert "default-src 'none'" in ready.headers["content-security-policy"]
    assert "access-control-allow-origin" not in ready.headers
    assert "disk_bytes" in shared.client.get("/v1/status").json()
