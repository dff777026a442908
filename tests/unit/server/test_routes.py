"""Every route there is, taken from /openapi.json: odd requests, no key, a foreign id."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from fpdf import FPDF
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serving import Running, serving, settled

OPEN = {"/healthz", "/livez", "/readyz", "/startupz"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("routes") / "library"
    with serving(folder, needs_keys=True, serve_rate=10**6, serve_burst=10**6) as running:
        yield running


@pytest.fixture(scope="module")
def api(keyed: Running) -> Any:
    loaded = schemathesis.openapi.from_dict(keyed.client.get("/openapi.json").json())
    loaded.config.base_url = keyed.address
    return loaded


def operations(running: Running) -> list[tuple[str, str]]:
    paths = running.client.get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def test_no_request_makes_the_server_fail(api: Any, keyed: Running, admin: str) -> None:
    tried: list[int] = []
    headers = {"Authorization": f"Bearer {admin}"}
    for found in api.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):  # streams that stay open
            continue

        @given(case=operation.as_strategy())
        @settings(
            max_examples=8,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            deadline=None,
            database=None,
        )
        def send(case: Any) -> None:
            answer = case.call(headers=headers)
            case.validate_response(answer, checks=CHECKS)
            tried.append(answer.status_code)
            assert answer.status_code < 500, (case.method, case.path, answer.text)
            if answer.status_code >= 400:
                said = answer.json()
                named = {"error" if name == "message" else name for name in said["error"]}
                found = set(said) if case.path.startswith("/api/") else named
                assert found >= {"code", "error", "remedy", "request_id"}, (case.method, case.path, answer.text)

        send()
        for made in keyed.client.get("/v1/models/connections", headers=headers).json()["connections"]:
            # What was connected at random cannot be reached, and would answer the questions that follow.
            keyed.client.delete(f"/v1/models/connections/{made['id']}", headers=headers)
    assert len(tried) > 200 and {200, 202, 404, 422} <= set(tried)


@pytest.fixture(scope="module")
def admin(keyed: Running) -> str:
    key: str = keyed.app.state.keys.create("fuzz", scopes=("admin",))[0]
    return key


def test_every_route_needs_a_key_before_anything_is_done(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True, serve_rate=10**6, serve_burst=10**6) as running:
        # A connection whose body was refused before it came is ended by the server, and cannot be used again.
        alone = {"Connection": "close"}
        for method, path in operations(running):
            address = path.replace("{", "").replace("}", "")
            answer = answered(
                lambda m=method, a=address: running.client.request(m, a, json={"query": "x"}, headers=alone)
            )
            assert answer.status_code == (200 if path in OPEN else 401), (method, path)
        assert running.client.post("/mcp", json={}).status_code == 401
        assert running.app.state.tenants.count_open() == 0 and running.app.state.jobs.waiting() == 0


def answered(send: Callable[[], httpx.Response]) -> httpx.Response:
    """An answer; one that is lost with its connection, because the body was still on its way, is asked for again."""
    for _ in range(9):
        with suppress(httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            return send()
    return send()


def test_a_foreign_id_is_answered_like_one_that_does_not_exist(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True, serve_rate=10**6, serve_burst=10**6) as running:
        keys = running.app.state.keys
        ours = running.with_key(keys.create("ours", scopes=("admin",))[0])
        foreign = keys.create("theirs", scopes=("admin",))
        theirs = running.with_key(foreign[0])
        owned = {**uploaded(ours), "key_id": keys.all("ours")[0].id}
        swept = 0
        for method, path in operations(running):
            names = re.findall(r"\{(\w+)\}", path)
            if not set(names) & set(owned):
                continue
            known = {**owned, "page": "1"}
            missing = {"page": "1", **{name: known[name][:-4] + "0000" for name in owned}}
            body = None if method in ("GET", "DELETE") else {"password": "x"} if path.endswith("/unlock") else {}
            there = theirs.request(method, filled(path, known), json=body)
            nowhere = theirs.request(method, filled(path, missing), json=body)
            assert there.status_code == nowhere.status_code == 404, (method, path)
            assert told(there, known) == told(nowhere, missing), (method, path)
            swept += 1
        assert swept >= 14
        for path in ("/v1/documents", "/v1/jobs", "/v1/collections", "/rag/documents"):
            rows = next(value for value in theirs.get(path).json().values() if isinstance(value, list))
            assert rows == [], path
        assert ours.get(f"/v1/documents/{owned['document_id']}").status_code == 200


def uploaded(client: httpx.Client) -> dict[str, str]:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.cell(text="The vault opens with 4711.")
    file = {"file": ("vault.pdf", io.BytesIO(bytes(pdf.output())))}
    answer = client.post("/v1/documents", files=file, data={"collection": "cellar1"})
    job = settled(client, answer.json()["jobs"][0]["id"])
    assert client.get(f"/v1/documents/{job['document_id']}/pages/1").status_code == 200
    return {"document_id": job["document_id"], "job_id": job["id"], "subject": "cellar1"}


def filled(path: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)


def told(answer: httpx.Response, values: dict[str, str]) -> str:
    """What an answer says, ids aside."""
    text = answer.text.replace(answer.headers["x-request-id"], "")
    for value in values.values():
        text = text.replace(value, "X") if len(value) > 3 else text
    return text
