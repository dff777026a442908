"""/api: what clients of a search page with `?rag=true` send and read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from provider import ScriptedProvider, embeds, says, status
from serving import Running, serving

HANDBOOK = (
    "# Handbook\n\n## Notice\n\nThe notice period is three months.\n\n## Leave\n\nEveryone has 28 days of leave.\n"
)
ASK = "/api/search?q=How+long+is+the+notice+period%3F&rag=true"
LINE = re.compile(r"\[\d{4}-\d\d-\d\dT[\d:.]+\+00:00\] \[(THOUGHT|ACTION|TOOL_RESULT|INFO)\] .+")


def rag(server: Running) -> dict[str, Any]:
    answer = server.client.get(ASK)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["rag"]
    return found


def test_the_chunks_are_those_of_the_prompt(server: Running) -> None:
    server.add("handbook.md", HANDBOOK)
    server.add("other.md", "The notice board hangs in the hall.")
    found = rag(server)
    similarities = [chunk["similarity"] for chunk in found["retrieved_chunks"]]
    assert len(similarities) >= 2 and similarities == sorted(similarities, reverse=True)
    assert all(chunk["text"] in found["final_prompt"] for chunk in found["retrieved_chunks"])
    assert "three months" in found["final_answer"] and found["degraded"] is False


def test_every_request_says_what_was_done(server: Running) -> None:
    server.add("handbook.md", HANDBOOK)
    found = rag(server)
    kinds = [step["type"] for step in found["agent_steps"]]
    assert kinds[:3] == ["thought", "action", "tool_result"]
    action, result = found["agent_steps"][1:3]
    assert action["tool"] == "search_documents" and action["tool_input"]["query"] == "How long is the notice period?"
    assert [row["chunk_id"] for row in result["tool_output"]] == [row["chunk_id"] for row in found["retrieved_chunks"]]
    assert all(LINE.fullmatch(line) for line in found["debug_logs"]) and len(found["debug_logs"]) >= 4


def test_a_model_is_asked_once_with_the_chunks_that_are_shown(tmp_path: Path) -> None:
    with ScriptedProvider(says("The notice period is three months [1].")) as provider:
        settings = {"model": "openai:some", "openai_base_url": provider.base_url, "openai_api_key": "k"}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            found = rag(running)
        prompts = [asked.prompt for asked in provider.requests]
    assert len(prompts) == 1 and found["model"] == "openai:some"
    chunks = found["retrieved_chunks"]
    assert chunks and all(chunk["text"] in found["final_prompt"] and chunk["text"] in prompts[0] for chunk in chunks)


def test_without_the_embedder_words_answer(tmp_path: Path) -> None:
    with ScriptedProvider(embeds(8)) as provider:
        settings = {"embedder": "openai:small", "openai_base_url": provider.base_url, "openai_api_key": "k"}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            provider.default = status(500)
            found = rag(running)
            plain = running.client.get("/api/search?q=notice+period")
    assert found["degraded"] is True and "three months" in found["final_answer"] and found["retrieved_chunks"]
    assert plain.status_code == 200 and plain.json()["results"]


def test_errors_are_flat(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_answers=1) as running:
        running.add("handbook.md", HANDBOOK)
        empty = running.client.get("/api/search?q=")
        assert empty.status_code == 400 and empty.json()["error"] == "q is empty"
        assert running.client.get(ASK).status_code == 200
        refused = running.client.get(ASK)
        body = refused.json()
        assert refused.status_code == 429 and isinstance(body["error"], str)
        assert (body["limit"], body["remaining"]) == (1, 0) and body["resetDate"].endswith("+00:00")
        assert isinstance(running.client.get("/api/search?q=a&limit=99").json()["error"], str)
        assert isinstance(running.client.get("/api/nothing").json()["error"], str)


def test_a_request_that_fails_is_not_counted(tmp_path: Path) -> None:
    with ScriptedProvider(status(500)) as provider:
        settings = {"model": "openai:some", "openai_base_url": provider.base_url, "openai_api_key": "k", "strict": True}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            before = running.client.get("/v1/usage").json()["answers"]["used"]
            assert running.client.get(ASK).status_code == 502
            assert running.client.post("/v1/ask", json={"question": "How long?"}).status_code == 502
            chat = {"messages": [{"role": "user", "content": "How long?"}]}
            assert running.client.post("/v1/chat/completions", json=chat).status_code == 502
            assert running.client.post("/v1/ask", json={"question": " "}).status_code == 422
            assert running.client.get("/v1/usage").json()["answers"]["used"] == before


def test_each_of_several_files_has_its_outcome(server: Running) -> None:
    good, bad = ("good.md", b"The bridge is new."), ("bad.pdf", b"%PDF-1.7 broken")
    answer = server.client.post("/api/upload", files=[("file", good), ("file", bad)])
    assert answer.status_code == 207
    first, second = answer.json()["documents"]
    assert first["filename"] == "good.md" and first["status"] == "indexed" and first["id"]
    assert second["filename"] == "bad.pdf" and second["status"] == "failed" and second["error"] and second["code"]
    both = server.client.post("/api/upload", files=[("file", good), ("file", ("more.md", b"The tower is old."))])
    assert both.status_code == 200 and len(both.json()["documents"]) == 2
    alone = server.client.post("/api/upload", files=[("file", bad)])
    assert alone.status_code == 422 and isinstance(alone.json()["error"], str)


def test_cohere_alone_is_a_model_with_its_settings(tmp_path: Path) -> None:
    with ScriptedProvider(says("The notice period is three months [1].")) as provider:
        settings = {"model": "cohere", "cohere_base_url": provider.base_url, "cohere_api_key": "k"}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            found = rag(running)
        (asked,) = provider.requests
    assert found["model"] == "cohere:command-r-08-2024" and "three months" in found["final_answer"]
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"]) == (
        "command-r-08-2024",
        0.3,
        2000,
    )
    assert "stream_options" not in asked.body and asked.headers["authorization"] == "Bearer k"


def test_keys_are_read_from_the_variables_of_the_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "from-the-variable")
    with ScriptedProvider(says("The notice period is three months [1].")) as provider:
        with serving(tmp_path / "library", model="cohere", cohere_base_url=provider.base_url) as running:
            running.add("handbook.md", HANDBOOK)
            rag(running)
        assert provider.requests[0].headers["authorization"] == "Bearer from-the-variable"


def test_a_missing_key_is_said_before_a_request_goes_out(tmp_path: Path) -> None:
    with serving(tmp_path / "library", model="cohere", proxy="http://127.0.0.1:9") as running:
        running.add("handbook.md", HANDBOOK)
        found = rag(running)
        strict = running.client.post("/v1/ask", json={"question": "How long is it?", "strict": True}).json()["error"]
    assert found["degraded"] and any("needs a key" in step["text"] for step in found["agent_steps"])
    assert strict["code"] == "provider_refused" and "cohere_api_key" in strict["remedy"]
