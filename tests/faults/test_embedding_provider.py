"""Promise V at the embedder: no wrong vector is ever stored, and a search goes on without it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import provider as fake
from footnotes.embed.checked import embed_all, embed_one
from footnotes.embed.make import make_embedder
from footnotes.errors import FootnotesError, MissingExtra
from footnotes.library import Library
from footnotes.settings import Settings
from provider import ScriptedProvider

TEXTS = ["alpha beta", "gamma", "delta epsilon zeta"]
Data = list[dict[str, Any]]


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(fake.embeds(8)) as running:
        yield running


def settings_for(provider: ScriptedProvider, embedder: str = "openai:test-model", **changes: Any) -> Settings:
    url = provider.base_url
    urls = {"openai_base_url": url, "ollama_base_url": url, "gemini_base_url": url, "cohere_base_url": url}
    keys = {"openai_api_key": "sk-canary-123456", "cohere_api_key": "co-canary-123456", "model_timeout": 5.0}
    return Settings(**(urls | keys | {"embedder": embedder} | changes))


def test_vectors_come_in_order_and_the_dimension_is_found_out(provider: ScriptedProvider) -> None:
    provider.default = fake.embeds(8, change=lambda data: data[::-1])
    embedder = make_embedder(settings_for(provider))
    vectors = embed_all(embedder, TEXTS, role="passage")
    single = np.vstack([embed_one(embedder, text, role="passage") for text in TEXTS])
    assert embedder.dimensions == 8 and np.allclose(vectors, single)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert provider.requests[0].path == "/embeddings"
    embedder.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "path", "query", "passage"),
    [
        ("openai:text-embedding-3-small", "/embeddings", "x", "x"),
        ("ollama:nomic-embed-text", "/embeddings", "search_query: x", "search_document: x"),
        ("gemini:gemini-embedding-001", "/embeddings", "x", "x"),
    ],
)
def test_every_provider_is_told_what_a_text_is(
    provider: ScriptedProvider, name: str, path: str, query: str, passage: str
) -> None:
    embedder = make_embedder(settings_for(provider, name))
    embedder.embed(["x"], role="query")
    embedder.embed(["x"], role="passage")
    assert [asked.path for asked in provider.requests] == [path, path]
    assert [asked.body["input"] for asked in provider.requests] == [[query], [passage]]
    assert embedder.name == name and name in embedder.fingerprint
    embedder.close()  # type: ignore[attr-defined]


def test_cohere_has_input_types(provider: ScriptedProvider) -> None:
    embedder = make_embedder(settings_for(provider, "cohere:embed-english-light-v3.0"))
    embedder.embed(["x"], role="query")
    embedder.embed(["x", ""], role="passage")
    assert [asked.path for asked in provider.requests] == ["/v2/embed", "/v2/embed"]
    assert [asked.body["input_type"] for asked in provider.requests] == ["search_query", "search_document"]
    assert embedder.dimensions == 384 and embedder.fingerprint == "cohere:embed-english-light-v3.0/384"
    embedder.close()  # type: ignore[attr-defined]


def spoiled(value: Any) -> Callable[[Data], Data]:
    def change(data: Data) -> Data:
        data[0]["embedding"][0] = value
        return data

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: data[:-1], "provider_bad_response"),
        (lambda data: [*data, data[0]], "provider_bad_response"),
        (lambda data: [{**item, "index": 0} for item in data], "provider_bad_response"),
        (lambda data: [{**item, "index": item["index"] + 1} for item in data], "provider_bad_response"),
        (lambda data: [{**item, "embedding": "text"} for item in data], "provider_bad_response"),
        (
            lambda data: [{**item, "embedding": item["embedding"][: 3 + i]} for i, item in enumerate(data)],
            "provider_bad_response",
        ),
        (lambda data: [{**item, "embedding": item["embedding"][:5]} for item in data], "dimension_mismatch"),
        (lambda data: [{**item, "embedding": [0.0] * 8} for item in data], "invalid_vector"),
        (spoiled(float("nan")), "invalid_vector"),
        (spoiled(float("inf")), "invalid_vector"),
        (spoiled(1e40), "invalid_vector"),
    ],
)
def test_v4_v5_v6_wrong_vectors_are_refused(
    provider: ScriptedProvider, change: Callable[[Data], Data], code: str
) -> None:
    embedder = make_embedder(settings_for(provider))
    assert embedder.dimensions == 8
    provider.default = fake.embeds(8, change=change)
    with pytest.raises(FootnotesError) as raised:
        embed_all(embedder, TEXTS, role="passage", sleep=lambda _: None)
    assert raised.value.code == code
    embedder.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (fake.status(500), "provider_unavailable"),
        (fake.status(401, {"error": "wrong key sk-canary-123456"}), "provider_refused"),
        (fake.status(429, headers={"retry-after": "7"}), "provider_rate_limited"),
        (fake.sends("<html>"), "provider_bad_response"),
        (fake.sends('{"data": []}'), "provider_bad_response"),
        (fake.sends('{"error": {"message": "no"}}'), "provider_bad_response"),
        (fake.resets(), "provider_unavailable"),
    ],
)
def test_v1_v2_v3_faults_have_a_code_and_are_waited_for_as_told(
    provider: ScriptedProvider, action: fake.Action, code: str
) -> None:
    embedder = make_embedder(settings_for(provider, "openai:text-embedding-3-small"))
    provider.default = action
    waits: list[float] = []
    with pytest.raises(FootnotesError) as raised:
        embed_all(embedder, TEXTS, role="passage", sleep=waits.append)
    assert raised.value.code == code and "canary" not in raised.value.message
    assert len(waits) == (0 if code == "provider_refused" else 4)
    if code == "provider_rate_limited":
        assert waits == [7.0] * 4
    embedder.close()  # type: ignore[attr-defined]


def test_v1_a_document_whose_embedder_fails_waits_and_is_found_by_its_words(
    provider: ScriptedProvider, tmp_path: Path
) -> None:
    settings = settings_for(provider, "openai:text-embedding-3-small")
    provider.default = fake.status(401, {"error": "no"})
    with Library(tmp_path / "library", settings=settings) as library:
        added = library.add_text("Alpha beta gamma.", filename="a.txt")
        assert added.status == "failed" and added.error is not None and added.error.code == "provider_refused"
        (document,) = library.documents()
        assert document.status == "queued" and document.error is not None and document.error.code == "provider_refused"
        assert len(library.search("alpha", mode="lexical").hits) == 1
        provider.default = fake.embeds(1536)
        found = library.search("alpha")
        assert found.degraded and found.legs["dense"].status == "pending" and len(found.hits) == 1
        library.resume()
        assert library.documents()[0].status == "ready" and not library.search("alpha").degraded


def test_v8_an_embedder_down_at_query_time_leaves_a_flagged_lexical_answer(
    provider: ScriptedProvider, tmp_path: Path
) -> None:
    settings = settings_for(provider, embed_query_seconds=0.5)
    with Library(tmp_path / "library", settings=settings) as library:
        library.add_text("The notice period is three months. Lunch is at noon.", filename="a.txt")
        assert not library.search("notice period").degraded
        for action in (fake.status(500), fake.hangs()):
            provider.default = action
            began = time.monotonic()
            answer = library.ask("How long is the notice period?")
            assert time.monotonic() - began < 10
            assert answer.degraded and answer.legs["dense"].status == "failed" and answer.legs["dense"].reason
            assert "three months" in answer.answer
            assert all(np.isfinite(hit.score) for hit in answer.hits)
        provider.released.set()


def test_v5_another_model_behind_the_same_name_never_mixes(provider: ScriptedProvider, tmp_path: Path) -> None:
    settings = settings_for(provider)
    with Library(tmp_path / "library", settings=settings) as library:
        library.add_text("The notice period is three months.", filename="a.txt")
    provider.default = fake.embeds(16)
    with Library(tmp_path / "library", settings=settings) as library:
        result = library.search("notice")
        assert result.degraded and result.hits and result.legs["dense"].status == "failed"


def test_a_missing_extra_names_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    embedder = make_embedder(Settings(embedder="sentence-transformers:some/model"))
    with pytest.raises(MissingExtra) as raised:
        embedder.embed(["x"], role="query")
    assert 'pip install "footnotes[sentence-transformers]"' in raised.value.remedy
