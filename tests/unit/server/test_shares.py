"""No tenant takes what others need: threads, storage, the queue, models that cost; and no web site spends answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from postgres import PostgresServer
from provider import ScriptedProvider, hangs, says
from serving import Running, serving

MEGABYTE = 1_000_000


# ── threads


def test_questions_to_a_model_that_hangs_hold_up_no_other_tenant(tmp_path: Path) -> None:
    with ScriptedProvider(hangs()) as provider, ThreadPoolExecutor(80) as pool:
        settings = {"model": "openai:any", "openai_base_url": provider.base_url, "openai_api_key": "none"}
        with serving(tmp_path / "library", needs_keys=True, answer_seconds=60.0, **settings) as running:
            keys = [running.app.state.keys.create(name, scopes=("read", "write"))[0] for name in ("hog", "other")]
            hog, other = map(running.with_key, keys)
            for client in (hog, other):
                running.add("a.txt", "Storks winter in Africa.", client)
            options = {"headers": {"Authorization": f"Bearer {keys[0]}"}, "timeout": 90, "trust_env": False}
            asked = [
                pool.submit(httpx.post, f"{running.address}/v1/ask", json={"question": f"Storks {n}?"}, **options)
                for n in range(75)
            ]
            while len(provider.requests) < 20:
                assert not any(one.done() for one in asked)
            answer = other.post("/v1/search", json={"query": "storks", "reranker": "llm"}, timeout=20)
            assert answer.status_code == 200 and answer.json()["hits"]
            provider.released.set()


# ── storage and the queue


@pytest.fixture(params=["folder", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    if request.param == "folder":
        return ""
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


def test_storage_and_queue_hold_under_uploads_at_once(tmp_path: Path, store: str) -> None:
    settings = {"store": store, "serve_worker": False, "serve_tenant_bytes": 9 * MEGABYTE, "serve_queue": 15}
    with serving(tmp_path / "library", **settings) as running, ThreadPoolExecutor(16) as pool:

        def upload(number: int, size: int) -> int:
            files = {"file": (f"{number}.txt", b"x" * size)}
            return httpx.post(f"{running.address}/v1/documents", files=files, timeout=60, trust_env=False).status_code

        with running.app.state.intake.paused():
            large = list(pool.map(lambda number: upload(number, 2 * MEGABYTE), range(16)))
            small = list(pool.map(lambda number: upload(100 + number, 10), range(32)))
    assert sorted(large) == [202] * 4 + [413] * 12
    assert small.count(202) == 11 and set(small) == {202, 503}


# ── what costs


def test_a_reranker_by_a_language_model_counts_as_answers(tmp_path: Path) -> None:
    with ScriptedProvider(says("1, 2")) as provider:
        settings = {"model": "openai:any", "openai_base_url": provider.base_url, "openai_api_key": "none"}
        with serving(tmp_path / "library", serve_answers=2, **settings) as running:
            running.add("a.txt", "Storks winter in Africa.")
            statuses = [
                running.client.post("/v1/search", json={"query": "storks", "reranker": "llm"}).status_code
                for _ in range(3)
            ]
            assert statuses == [200, 200, 429]
            assert running.client.post("/v1/search", json={"query": "storks"}).status_code == 200


@pytest.mark.parametrize("reranker", ["cohere:any", "server:any", "onnx", "nothing"])
def test_callers_choose_no_foreign_reranker(shared: Running, reranker: str) -> None:
    answer = shared.client.post("/v1/search", json={"query": "notice", "reranker": reranker})
    assert answer.status_code == 422


def test_callers_choose_only_embedders_the_server_offers(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_embedders=("local:minilm-l6",)) as running:
        for name, status in (("openai:text-embedding-3-large", 422), ("local:minilm-l6", 202), ("hashing", 202)):
            assert running.client.post("/v1/reindex", json={"embedder": name}).status_code == status


# ── other sites

PICTURE = "/api/search?q=notice+period&rag=true"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Referer": "https://evil.example/page"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Referer": "{address}/"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({}, 200),
    ],
)
def test_a_picture_on_a_web_site_spends_no_answer(shared: Running, headers: dict[str, str], status: int) -> None:
    sent = {name: value.format(address=shared.address) for name, value in headers.items()}
    before = shared.client.get("/v1/usage").json()["answers"]["used"]
    assert shared.client.get(PICTURE, headers=sent).status_code == status
    assert shared.client.get("/v1/usage").json()["answers"]["used"] == before + (status == 200)
    assert shared.client.get("/", headers=sent).status_code == 200, "a link to the page leads to it"
