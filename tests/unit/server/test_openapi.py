"""/openapi.json is complete and true: every operation is described, and what is really answered fits it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serving import Running, settled

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPEN = {"/healthz", "/livez", "/readyz", "/startupz"}


@pytest.fixture(scope="module")
def described(shared: Running) -> dict[str, Any]:
    found: dict[str, Any] = shared.client.get("/openapi.json").json()
    return found


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_every_operation_says_what_it_answers(described: dict[str, Any]) -> None:
    count = 0
    for method, path, operation in operations(described):
        good = {status: said for status, said in operation["responses"].items() if status.startswith("2")}
        assert good, (method, path)
        for said in good.values():
            for media in said["content"].values():
                assert media["schema"] and media["example"], (method, path)
        failures = {status: said for status, said in operation["responses"].items() if int(status) >= 400}
        for status, said in failures.items():
            schema = said["content"]["application/json"]["schema"]
            ready = path in ("/readyz", "/startupz") and status == "503"
            expected = "Ready" if ready else "FlatError" if path.startswith("/api/") else "ErrorBody"
            assert schema["$ref"].endswith(expected), (method, path, status)
        assert operation["summary"] and operation["tags"]
        assert ("security" in operation) == (path not in OPEN)
        count += 1
    assert count >= 35


def test_every_body_has_an_example(described: dict[str, Any]) -> None:
    for method, path, operation in operations(described):
        for media in operation.get("requestBody", {}).get("content", {}).values():
            assert media["example"], (method, path)


def test_the_examples_are_what_they_are_examples_of(described: dict[str, Any]) -> None:
    count = 0
    for method, path, operation in operations(described):
        media = [media for said in operation["responses"].values() for media in said["content"].items()]
        for kind, one in [*media, *operation.get("requestBody", {}).get("content", {}).items()]:
            if kind == "application/json":
                schema = {**one["schema"], "components": described["components"]}
                found = list(Draft202012Validator(schema).iter_errors(one["example"]))
                assert not found, (method, path, found[0].message)
                count += 1
    assert count > 300


def test_what_is_answered_has_no_field_but_those_described(described: dict[str, Any]) -> None:
    """Which makes the other tests strict: a field that is not described, or left out, does not fit."""
    schemas = described["components"]["schemas"]
    for name in ("Document", "ServerJob", "Hit", "Answer", "Citation", "Status", "RagHit", "ApiAnswer", "Completion"):
        assert schemas[name]["additionalProperties"] is False
        assert set(schemas[name]["required"]) == set(schemas[name]["properties"])


def test_what_is_answered_fits_the_description(shared: Running) -> None:
    """Requests that succeed, one for each route that answers JSON."""
    api = schemathesis.openapi.from_dict(shared.client.get("/openapi.json").json())
    api.config.base_url = shared.address
    document = shared.client.get("/v1/documents").json()["documents"][0]["document_id"]
    job = shared.client.get("/v1/jobs").json()["jobs"][0]["id"]
    question = {"question": "How long is the notice period?"}
    chat = {"messages": [{"role": "user", "content": question["question"]}]}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        (
            "POST",
            "/v1/documents",
            {"body": {"text": "Cranes dance.", "filename": "cranes.txt"}, "media_type": "application/json"},
        ),
        ("GET", "/v1/documents", {"query": {"limit": 1}}),
        ("GET", "/v1/documents/{document_id}", {"path_parameters": {"document_id": document}}),
        ("GET", "/v1/documents/{document_id}/text", {"path_parameters": {"document_id": document}}),
        ("GET", "/v1/documents/{document_id}/chunks", {"path_parameters": {"document_id": document}}),
        ("GET", "/v1/documents/{document_id}/content", {"path_parameters": {"document_id": document}}),
        ("GET", "/v1/collections", {}),
        (
            "PUT",
            "/v1/collections/{name}",
            {"path_parameters": {"name": "trips"}, "body": {"system_prompt": "Be brief."}},
        ),
        ("POST", "/v1/search", {"body": {"query": "notice period"}}),
        ("POST", "/v1/ask", {"body": question}),
        ("GET", "/v1/jobs", {}),
        ("GET", "/v1/jobs/{job_id}", {"path_parameters": {"job_id": job}}),
        ("GET", "/v1/status", {}),
        ("GET", "/v1/usage", {}),
        ("GET", "/healthz", {}),
        ("GET", "/livez", {}),
        ("GET", "/readyz", {}),
        ("GET", "/startupz", {}),
        ("GET", "/metrics", {}),
        ("POST", "/v1/chat/completions", {"body": chat}),
        ("GET", "/v1/models", {}),
        ("GET", "/v1/models/{name}", {"path_parameters": {"name": "footnotes"}}),
        ("POST", "/v1/embeddings", {"body": {"input": "a"}}),
        ("POST", "/rag/index", {"body": {"filename": "rag.md", "content": "Rooks count."}}),
        ("POST", "/rag/search", {"body": {"query": "rooks"}}),
        ("GET", "/rag/documents", {}),
        ("GET", "/api/search", {"query": {"q": "notice", "rag": True}}),
        ("POST", "/v1/reindex", {"body": {"collection": "trips"}}),
    ]
    for method, path, parts in asked:
        answer = api[path][method].Case(**parts).call_and_validate(checks=CHECKS)
        assert answer.status_code < 300, (method, path, answer.text)
    for waiting in shared.client.get("/v1/jobs").json()["jobs"]:
        settled(shared.client, waiting["id"])
