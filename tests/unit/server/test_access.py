"""Who may do what, and how much: keys, tenants, rates, quotas, limits of bodies."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from footnotes.cli import main
from serving import Running, events_of, serving


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library", needs_keys=True) as running:
        yield running


def key_for(running: Running, tenant: str, *scopes: str) -> str:
    return running.app.state.keys.create(tenant, scopes=scopes or ("read", "write"))[0]


def test_wrong_unknown_revoked_and_expired_keys_are_refused_alike(keyed: Running) -> None:
    keys = keyed.app.state.keys
    good = key_for(keyed, "a")
    revoked, kept = keys.create("a")
    keys.revoke(kept.id)
    expired, kept = keys.create("a", days=1)
    in_file = keyed.app.state.database._writing.connection
    in_file.execute("UPDATE keys SET expires_at = '2020-01-01T00:00:00+00:00' WHERE id = ?", (kept.id,))
    bodies = set()
    for key in ("none", "fn_x_y", "ключ", good[:-1] + ("A" if good[-1] != "A" else "B"), revoked, expired):
        answer = keyed.client.get("/v1/documents", headers={"Authorization": f"Bearer {key}".encode()})
        assert answer.status_code == 401
        bodies.add(json.dumps({**answer.json()["error"], "request_id": ""}))
    assert len(bodies) == 1
    assert keyed.with_key(good).get("/v1/documents").status_code == 200


def test_scopes(keyed: Running) -> None:
    reader = keyed.with_key(key_for(keyed, "a", "read"))
    assert reader.get("/v1/documents").status_code == 200
    assert reader.post("/v1/documents", json={"text": "x"}).json()["error"]["code"] == "forbidden"
    assert reader.get("/v1/keys").status_code == 403 and reader.get("/metrics").status_code == 403
    admin = keyed.with_key(key_for(keyed, "a", "admin"))
    made = admin.post("/v1/keys", json={"scopes": ["read"], "name": "phone"}).json()
    assert made["tenant"] == "a" and keyed.with_key(made["key"]).get("/v1/documents").status_code == 200
    assert admin.delete(f"/v1/keys/{made['id']}").json()["live"] is False
    other = keyed.with_key(key_for(keyed, "b", "admin"))
    assert other.delete(f"/v1/keys/{made['id']}").status_code == 404
    assert [row["tenant"] for row in other.get("/v1/keys").json()["keys"]] == ["b"]


def test_two_tenants_never_see_each_other(keyed: Running) -> None:
    ours, theirs = keyed.with_key(key_for(keyed, "ours")), keyed.with_key(key_for(keyed, "theirs"))
    document = keyed.add("secret.txt", "The vault opens with 4711.", ours)
    asked = {"query": "vault opens with"}
    assert (
        ours.post("/v1/search", json=asked).json()["hits"] and not theirs.post("/v1/search", json=asked).json()["hits"]
    )
    assert theirs.post("/v1/search", json={**asked, "where": {"user_id": "ours"}}).json()["hits"] == []
    assert not theirs.get("/v1/documents").json()["documents"] and not theirs.get("/v1/jobs").json()["jobs"]
    for path in ("", "/text", "/chunks", "/content", "/pages/1"):
        there, nowhere = (theirs.get(f"/v1/documents/{name}{path}") for name in (document, "d" + "0" * 16))
        assert there.status_code == nowhere.status_code == 404
        assert there.text.replace(document, "X").replace(there.headers["x-request-id"], "") == nowhere.text.replace(
            "d" + "0" * 16, "X"
        ).replace(nowhere.headers["x-request-id"], "")
    assert theirs.delete(f"/v1/documents/{document}").status_code == 404
    assert ours.get(f"/v1/documents/{document}").status_code == 200


def test_making_the_first_key_closes_a_running_server(server: Running) -> None:
    assert server.client.get("/v1/documents").status_code == 200
    key_for(server, "local")
    assert server.client.get("/v1/documents").status_code == 401


def test_a_public_address_without_keys_is_refused(tmp_path: Path) -> None:
    refused = CliRunner().invoke(main, ["serve", "-l", str(tmp_path), "--host", "0.0.0.0", "--port", "0"])
    assert refused.exit_code == 1 and "address_refused" in refused.output


def test_pages_of_other_origins_may_not_call(server: Running) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
        answer = server.client.post("/v1/documents", json={"text": "x"}, headers=headers)
        assert answer.status_code == 403 and answer.json()["error"]["code"] == "origin_refused"
        assert "access-control-allow-origin" not in answer.headers
    assert server.client.get("/v1/jobs", headers={"Origin": server.address}).json()["jobs"] == []


def test_an_origin_that_is_allowed_may_call(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_cors=("https://good.example",)) as running:
        asked = {"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
        answer = running.client.options("/v1/search", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://good.example"


def test_too_many_requests_are_told_when_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True, serve_rate=1, serve_burst=3) as running:
        client = running.with_key(key_for(running, "a"))
        seen = [client.get("/v1/jobs", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(4)]
        refused = client.get("/v1/jobs")
    assert seen == [200, 200, 200, 429]
    assert refused.json()["error"]["code"] == "rate_limited" and int(refused.headers["retry-after"]) >= 1


def test_the_months_answers_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_answers=1) as running:
        running.add("a.txt", "The lake is 40 metres deep.")
        asked = {"question": "How deep is the lake?"}
        assert running.client.post("/v1/ask", json=asked).headers["x-quota-remaining"] == "0"
        refused = running.client.post("/v1/ask", json=asked)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        error = refused.json()["error"]
        assert (error["code"], error["limit"], error["remaining"]) == ("quota_exceeded", 1, 0) and error["resetDate"]
        assert running.client.get("/v1/usage").json()["answers"]["used"] == 1


def test_bodies_are_limited(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_upload_bytes=300_000, serve_body_bytes=10_000) as running:

        def endless() -> Iterator[bytes]:
            yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
            for _ in range(100):
                yield b"x" * 10_000

        kind = {"Content-Type": "multipart/form-data; boundary=b"}

        def post(path: str, **given: Any) -> httpx.Response:
            # A connection whose request was not read to its end is closed after the response: none is used again.
            return httpx.post(running.address + path, timeout=60, trust_env=False, **given)

        answers = [
            post("/v1/documents", content=endless(), headers=kind),
            post("/v1/documents", files={"file": ("a", b"x" * 400_000)}),
            post("/v1/search", json={"query": "x" * 20_000}),
        ]
        assert [answer.status_code for answer in answers] == [413, 413, 413]
        assert answers[0].json()["error"]["code"] == "body_too_large"
        many = [("file", (str(n), b"x")) for n in range(1_001)]
        assert post("/v1/documents", files=many).status_code in (400, 413)
        assert not list((tmp_path / "library" / "spool").iterdir())


def test_a_slow_body_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_body_seconds=0.5) as running:
        host, port = running.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(
                b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
            )
            slow.settimeout(10)
            assert b"408" in slow.recv(65536)


def test_a_stream_ends_when_its_key_is_revoked(keyed: Running) -> None:
    key, kept = keyed.app.state.keys.create("a")
    with keyed.with_key(key).stream("GET", "/v1/jobs/events") as answer:
        keyed.app.state.keys.revoke(kept.id)
        began = time.monotonic()
        events = list(events_of(answer.iter_lines()))
    assert events[-1][0] == "error" and json.loads(events[-1][1])["error"]["code"] == "unauthorized"
    assert time.monotonic() - began < 8


def test_only_so_many_streams_are_open_at_once(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "library", serve_streams=1) as running,
        running.client.stream("GET", "/v1/jobs/events") as first,
    ):
        assert first.status_code == 200
        for _ in range(100):
            if running.app.state.streams.open:
                break
            time.sleep(0.02)
        refused = running.client.get("/v1/jobs/events")
        assert refused.status_code == 503 and refused.headers["retry-after"]
