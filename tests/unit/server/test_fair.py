"""What one tenant does is no reason for the others to wait."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from websockets.sync.client import connect

from footnotes.embed import Matrix
from footnotes.ingest import embedding
from footnotes.server import lane
from footnotes.server.streams import MOST_UNKNOWN
from footnotes.server.tenants import CountedEmbedder
from footnotes.server.threads import SLOW_THREADS
from footnotes.types import Role
from serving import Running, serving, settled

LARGE = " ".join(f"Sentence {n} speaks of item {n * 7} and of place {n % 89}." for n in range(5_000))
MANY = SLOW_THREADS + 6


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not come to pass")


def test_who_waits_for_documents_keeps_no_thread_from_answers(server: Running) -> None:
    """As many wait for their text as there are threads to answer: a question is answered all the same."""

    async def run() -> tuple[int, int]:
        async with httpx.AsyncClient(base_url=server.address, timeout=30, trust_env=False) as client:
            with server.app.state.intake.paused():
                bodies = [{"filename": f"{n}.txt", "content": f"Text {n}."} for n in range(MANY)]
                waiting = [asyncio.create_task(client.post("/rag/index", json=body)) for body in bodies]
                await until(lambda: server.app.state.jobs.waiting() >= SLOW_THREADS)
                asked = await client.post("/v1/ask", json={"question": "Anything?"}, timeout=10)
                for task in waiting[1:]:
                    task.cancel()
            return asked.status_code, (await waiting[0]).status_code

    assert asyncio.run(run()) == (200, 200)


def test_agents_that_index_keep_no_thread_from_answers(server: Running) -> None:
    async def index(n: int) -> Any:
        async with Client(f"{server.address}/mcp") as client:
            return await client.call_tool("index_document", {"filename": f"{n}.txt", "content": f"Text {n}."})

    async def run() -> tuple[int, Any]:
        async with httpx.AsyncClient(base_url=server.address, timeout=30, trust_env=False) as client:
            with server.app.state.intake.paused():
                waiting = [asyncio.create_task(index(n)) for n in range(MANY)]
                await until(lambda: server.app.state.jobs.waiting() >= SLOW_THREADS)
                asked = await client.post("/v1/ask", json={"question": "Anything?"}, timeout=10)
            return asked.status_code, await asyncio.gather(*waiting)

    asked, made = asyncio.run(run())
    assert asked == 200 and all(one.structured_content["status"] == "indexed" for one in made)


def test_who_hangs_up_is_not_waited_for(server: Running) -> None:
    async def run() -> None:
        with server.app.state.intake.paused():
            async with httpx.AsyncClient(base_url=server.address, trust_env=False) as client:
                body = {"filename": "a.txt", "content": "Cranes dance."}
                with pytest.raises(httpx.ReadTimeout):
                    await client.post("/rag/index", json=body, timeout=1)
            await until(lambda: 'route="/rag/index"' in server.client.get("/metrics").text)

    asyncio.run(run())


def test_connections_that_say_no_key_are_no_streams(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True, serve_streams=4) as running, ExitStack() as held:
        ours = running.with_key(running.app.state.keys.create("ours")[0])
        address = running.address.replace("http", "ws") + "/v1/ws"
        for _ in range(6):
            held.enter_context(connect(address, proxy=None))
        with ours.stream("GET", "/v1/jobs/events") as events:
            assert events.status_code == 200
        for _ in range(MOST_UNKNOWN - 6):
            held.enter_context(connect(address, proxy=None))
        with connect(address, proxy=None) as one_more:
            assert json.loads(one_more.recv(timeout=20))["error"]["code"] == "server_busy"
        with ours.stream("GET", "/v1/jobs/events") as events:
            assert events.status_code == 200


def test_a_tenant_has_its_share_of_the_streams_and_no_more(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True, serve_streams=6) as running, ExitStack() as held:
        ours, theirs = (running.with_key(running.app.state.keys.create(name)[0]) for name in ("ours", "theirs"))
        for count in range(1, 5):
            assert held.enter_context(ours.stream("GET", "/v1/jobs/events")).status_code == 200
            asyncio.run(until(lambda count=count: running.app.state.streams.open == count))  # type: ignore[misc]
        refused = ours.get("/v1/jobs/events")
        assert refused.status_code == 503 and "tenant" in refused.json()["error"]["message"]
        with theirs.stream("GET", "/v1/jobs/events") as events:
            assert events.status_code == 200


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A server that takes its time with vectors, and has short turns."""
    make = CountedEmbedder.embed

    def embed(self: CountedEmbedder, texts: Sequence[str], *, role: Role) -> Matrix:
        time.sleep(0.05 if role == "passage" else 0.0)
        return make(self, texts, role=role)

    monkeypatch.setattr(CountedEmbedder, "embed", embed)
    monkeypatch.setattr(embedding, "KEPT_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(lane, "TURN_SECONDS", 0.2)
    monkeypatch.setattr(lane, "OWN_TURN_SECONDS", 0.2)
    with serving(
        tmp_path / "library", needs_keys=True, serve_worker=False, serve_rate=60_000, serve_burst=10_000
    ) as running:
        yield running


def build_source(client: httpx.Client, name: str, text: str, **fields: str) -> str:
    answer = client.post("/v1/documents", files={"file": (name, text.encode())}, data=fields)
    return str(answer.json()["jobs"][0]["id"])


def is_embedding(client: httpx.Client, job_id: str) -> Callable[[], bool]:
    return lambda: client.get(f"/v1/jobs/{job_id}").json()["stage"] == "embedding"


def test_a_large_text_does_not_hold_up_the_small_ones_of_others(slow: Running) -> None:
    keys = slow.app.state.keys
    ours, theirs = (slow.with_key(keys.create(name, scopes=("read", "write"))[0]) for name in ("ours", "theirs"))
    large = build_source(ours, "large.txt", LARGE)
    asyncio.run(until(is_embedding(ours, large)))
    for n in range(3):
        small = build_source(theirs, f"{n}.txt", f"Crane number {n} dances.")
        assert settled(theirs, small)["state"] == "ready"
        assert ours.get(f"/v1/jobs/{large}").json()["state"] in ("queued", "running")
    done = settled(ours, large)
    assert done["state"] == "ready" and done["attempts"] == 1


def test_words_of_a_new_text_come_before_vectors_of_an_older_one(slow: Running) -> None:
    ours = slow.with_key(slow.app.state.keys.create("ours", scopes=("read", "write"))[0])
    large = build_source(ours, "large.txt", LARGE)
    asyncio.run(until(is_embedding(ours, large)))
    small = build_source(ours, "small.txt", "Cranes dance in spring.", collection="birds")
    hits = {"query": "cranes dance", "collection": "birds"}
    asyncio.run(until(lambda: bool(ours.post("/v1/search", json=hits).json().get("hits"))))
    assert ours.get(f"/v1/jobs/{large}").json()["state"] in ("queued", "running")
    assert [settled(ours, job)["state"] for job in (large, small)] == ["ready", "ready"]


def test_a_later_version_never_overtakes_an_earlier_one(slow: Running) -> None:
    ours = slow.with_key(slow.app.state.keys.create("ours", scopes=("read", "write"))[0])
    first = build_source(ours, "same.txt", LARGE)
    asyncio.run(until(is_embedding(ours, first)))
    second = build_source(ours, "same.txt", "Cranes dance in spring.")
    assert [settled(ours, job)["state"] for job in (second, first)] == ["ready", "ready"]
    (kept,) = ours.get("/v1/documents").json()["documents"]
    assert kept["chunks"] == 1


def test_the_original_is_there_as_soon_as_the_text_can_be_cited(slow: Running) -> None:
    ours = slow.with_key(slow.app.state.keys.create("ours", scopes=("read", "write"))[0])
    job = build_source(ours, "large.txt", LARGE)
    asyncio.run(until(is_embedding(ours, job)))
    (found,) = ours.get("/v1/documents").json()["documents"]
    assert found["status"] != "ready"
    assert ours.get(f"/v1/documents/{found['id']}/content").text == LARGE
