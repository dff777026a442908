"""What the server says and keeps in the small: settings by name, forms, counters, ids of requests, probes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import run
from provider import ScriptedProvider, embeds, status
from serving import Running, serving, settled


def test_too_large_names_the_setting(tmp_path: Path) -> None:
    limits = {"serve_body_bytes": 20_000, "serve_upload_bytes": 40_000, "max_file_bytes": 10_000}
    with serving(tmp_path / "library", **limits) as running:
        body = running.client.post("/v1/search", json={"query": "a" * 30_000})
        upload = running.client.post("/v1/documents", files={"file": ("a.txt", b"a" * 50_000)})
        file = running.client.post("/v1/documents", files={"file": ("a.txt", b"a" * 20_000)})
        assert [answer.status_code for answer in (body, upload, file)] == [413, 413, 413]
        for answer, setting in ((body, "serve_body_bytes"), (upload, "serve_upload_bytes"), (file, "max_file_bytes")):
            named = [name for name in limits if name in answer.json()["error"]["remedy"]]
            assert named == [setting]


def test_a_refused_upload_leaves_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "library", max_file_bytes=1_000, embedder="hashing") as running:
        files = [("file", ("small.txt", b"a small file")), ("file", ("large.txt", b"a" * 5_000))]
        assert running.client.post("/v1/documents", files=files).status_code == 413
        metadata = running.client.post("/v1/documents", files={"file": ("a.txt", b"a")}, data={"metadata": "[1]"})
        assert metadata.status_code == 422
        for job in running.client.get("/v1/jobs").json()["jobs"]:
            settled(running.client, job["id"])
        assert not list((tmp_path / "library" / "spool").iterdir())


def test_a_job_is_retryable_only_where_another_try_may_help(server: Running) -> None:
    made = server.client.post("/v1/documents", files={"file": ("bad.pdf", b"%PDF-1.7 broken")}).json()
    job = settled(server.client, made["jobs"][0]["id"])
    assert job["state"] == "failed" and job["retryable"] is False


def test_options_of_a_chunker_are_an_object_and_checked_first(server: Running) -> None:
    body = {"chunker": "rules", "chunker_options": {"tokens": 64, "overlap": 0}}
    assert server.client.put("/v1/collections/staff", json=body).json()["chunker_options"] == body["chunker_options"]
    for wrong in ({"chunker": "rules", "chunker_options": {"token": 64}}, {"chunker_options": {"tokens": 64}}):
        assert server.client.put("/v1/collections/staff", json=wrong).status_code == 422
    (row,) = [row for row in server.client.get("/v1/collections").json()["collections"] if row["name"] == "staff"]
    assert row["chunker_options"] == body["chunker_options"]


@pytest.mark.parametrize(
    "fields",
    [
        {"colection": "staff"},
        {"collection": "x" * 201},
        {"metadata": "not json"},
        {"metadata": '{"a": 1, "a": 2}'},
        {"metadata": '{"a": NaN}'},
        {"metadata": "[1]"},
    ],
)
def test_the_fields_of_a_form_are_checked_like_json(server: Running, fields: dict[str, str]) -> None:
    answer = server.client.post("/v1/documents", files={"file": ("a.txt", b"a")}, data=fields)
    assert answer.status_code == 422, answer.text
    assert server.client.get("/v1/jobs").json()["jobs"] == []


def test_searches_made_for_answers_are_counted(server: Running) -> None:
    server.add("a.txt", "The lake is 40 metres deep.")

    def searches() -> float:
        lines = server.client.get("/metrics").text.splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.startswith('footnotes_searches_total{leg="lexical"')
        )

    before = searches()
    server.client.post("/v1/ask", json={"question": "How deep is the lake?"})
    assert searches() == before + 1
    server.client.post("/v1/search", json={"query": "lake"})
    assert searches() == before + 2


@pytest.fixture
def provider() -> Any:
    with ScriptedProvider(embeds(8)) as running:
        yield running


def test_calls_for_an_upload_carry_the_id_of_its_request(tmp_path: Path, provider: ScriptedProvider) -> None:
    settings = {"embedder": "openai:own", "openai_base_url": provider.base_url, "openai_api_key": "k"}
    with serving(tmp_path / "library", **settings) as running:
        headers = {"X-Request-ID": "the-upload-1"}
        body = {"filename": "a.txt", "content": "The lake is 40 metres deep."}
        assert running.client.post("/rag/index", json=body, headers=headers).status_code == 200
    calls = [one for one in provider.requests if one.body.get("input") != ["dimensions"]]
    assert calls and {one.headers["X-Request-ID"] for one in calls} == {"the-upload-1"}


def test_calls_of_the_command_line_carry_one_id(
    tmp_path: Path, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("The lake is 40 metres deep.")
    given = {"EMBEDDER": "openai:own", "OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "k"}
    for name, value in given.items():
        monkeypatch.setenv(f"FOOTNOTES_{name}", value)
    done = run("add", str(tmp_path / "a.txt"), "--library", str(tmp_path / "library"))
    assert done.exit_code == 0, done.output
    assert len({one.headers["X-Request-ID"] for one in provider.requests}) == 1


def test_the_dimension_is_asked_for_again_and_only_once(tmp_path: Path, provider: ScriptedProvider) -> None:
    def probes() -> int:
        return sum(one.body.get("input") == ["dimensions"] for one in provider.requests)

    provider.script(status(503))
    settings = {"embedder": "openai:own", "openai_base_url": provider.base_url, "openai_api_key": "k"}
    with serving(tmp_path / "library", **settings) as running:
        running.add("a.txt", "The lake is 40 metres deep.")
    assert probes() >= 2
    before = probes()
    with serving(tmp_path / "library", **settings) as running:
        found = running.client.post("/v1/search", json={"query": "lake"}).json()
        assert found["legs"]["dense"]["status"] == "ok" and found["hits"]
    assert probes() == before


def test_an_answer_names_its_sources(server: Running) -> None:
    made = server.add("handbook.md", "# Handbook\n\n## Notice\n\nThe notice period is three months.\n")
    answer = server.client.post("/v1/ask", json={"question": "How long is the notice period?"}).json()
    checksum = server.client.get(f"/v1/documents/{made}").json()["file_hash"]
    said = {"id": made, "filename": "handbook.md", "section": "Notice", "page": None, "checksum": checksum}
    assert answer["sources"] == [said]


def test_documents_are_listed_and_deleted_by_checksum(server: Running) -> None:
    made, other = server.add("a.txt", "The lake is deep."), server.add("b.txt", "The hill is high.")
    checksum = server.client.get(f"/v1/documents/{made}").json()["file_hash"]
    listed = server.client.get("/v1/documents", params={"checksum": checksum}).json()["documents"]
    assert [row["id"] for row in listed] == [made]
    found = server.client.post("/v1/search", json={"query": "deep high", "where": {"checksum": checksum}}).json()
    assert {hit["document_id"] for hit in found["hits"]} == {made}
    assert server.client.delete("/v1/documents", params={"checksum": checksum}).json() == {"deleted": [made]}
    assert [row["id"] for row in server.client.get("/v1/documents").json()["documents"]] == [other]
    assert server.client.delete("/v1/documents", params={"checksum": checksum}).status_code == 404


def test_a_search_takes_weights_and_a_missing_rank(server: Running) -> None:
    server.add("a.txt", "The lake is deep."), server.add("b.txt", "The hill is high.")
    body = {"query": "deep lake", "fusion": "rrf", "rrf_k": 10, "weights": [0.5, 2], "missing_rank": 100}
    (top, *_) = server.client.post("/v1/search", json=body).json()["hits"]
    lexical, dense = top["scores"]["lexical"]["rank"], top["scores"]["dense"]["rank"]
    assert top["scores"]["fused"] == pytest.approx(0.5 / (10 + lexical) + 2 / (10 + dense))
    for wrong in ({"weights": [1, -1]}, {"weights": [1, 1, 1]}, {"fusion": "adaptive"}, {"missing_rank": -1}):
        assert server.client.post("/v1/search", json={**body, **wrong}).status_code == 422


def test_no_room_for_a_passage_is_said_and_is_no_abstention(tmp_path: Path, provider: ScriptedProvider) -> None:
    settings = {"model": "openai:own", "openai_base_url": provider.base_url, "openai_api_key": "k"}
    with serving(tmp_path / "library", **settings, context_tokens=8_192, max_tokens=8_000) as running:
        running.add("a.txt", "The lake is 40 metres deep. " * 40)
        answer = running.client.post("/v1/ask", json={"question": "How deep is the lake?"}).json()
        assert answer["kind"] == "answer" and "40 metres" in answer["answer"] and answer["degraded"]
        assert "max_tokens" in str(answer["legs"]["model"]) or "8,000" in answer["legs"]["model"]["reason"]
        strict = running.client.post("/v1/ask", json={"question": "How deep is the lake?", "strict": True})
        assert strict.status_code == 422 and "max_tokens" in strict.json()["error"]["remedy"]


def test_a_collection_shows_its_failed_documents_and_takes_them_with_it(tmp_path: Path) -> None:
    with serving(tmp_path / "library") as running:
        running.add("good.md", "The lake is deep.", collection="staff")
        form = {"files": {"file": ("bad.pdf", b"%PDF-1.7 broken")}, "data": {"collection": "staff"}}
        made = running.client.post("/v1/documents", **form).json()
        assert settled(running.client, made["jobs"][0]["id"])["state"] == "failed"
        spool = tmp_path / "library" / "spool"
        assert list(spool.iterdir())
        listed = running.client.get("/v1/documents", params={"collection": "staff"}).json()["documents"]
        assert {(row["filename"], row["status"]) for row in listed} == {("good.md", "ready"), ("bad.pdf", "failed")}
        gone = running.client.delete("/v1/collections/staff")
        assert gone.status_code == 200 and len(gone.json()["deleted"]) == 2
        assert running.client.get("/v1/documents").json()["documents"] == [] and not list(spool.iterdir())
        assert running.client.get("/v1/jobs").json()["jobs"] == []
        assert "staff" not in [row["name"] for row in running.client.get("/v1/collections").json()["collections"]]
