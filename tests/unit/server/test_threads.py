"""Tenants share the threads of a server."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from footnotes.parse.pdf_pages import PagePicture
from footnotes.server.threads import DRAW_THREADS, TENANT, Threads
from serving import Running


def test_one_tenant_cannot_take_all_threads() -> None:
    """Nor by hanging up: a thread is free when its call has ended, not when nobody waits for it."""
    held, begun = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        held.wait(30)

    async def run_as(tenant: str, call: object) -> object:
        TENANT.set(tenant)
        return await threads.run(call)  # type: ignore[arg-type]

    async def scenario() -> None:
        hogs = [asyncio.create_task(run_as("hog", hang)) for _ in range(50)]
        await asyncio.sleep(0.1)
        for hog in hogs[:25]:
            hog.cancel()
        await asyncio.sleep(0.1)
        other = asyncio.create_task(run_as("other", lambda: "served"))
        assert await asyncio.wait_for(other, 10) == "served"
        held.set()
        await asyncio.gather(*hogs, return_exceptions=True)
        while threads._shares:  # noqa: ASYNC110 (nothing is kept of tenants without calls)
            await asyncio.sleep(0.01)

    threads = Threads(8, "test")
    asyncio.run(asyncio.wait_for(scenario(), 30))
    threads.close()


def test_one_tenant_alone_has_all_threads() -> None:
    together = threading.Barrier(8, timeout=60)

    async def scenario() -> None:
        await asyncio.gather(*(threads.run(together.wait) for _ in range(8)))

    threads = Threads(8, "test")
    asyncio.run(scenario())
    threads.close()


def test_so_many_pages_are_drawn_at_once(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    document = server.add("a.txt", "Storks winter in Africa.")
    guard, drawn = threading.Lock(), {"now": 0, "most": 0}

    def draw(*_: Any, **__: Any) -> PagePicture:
        with guard:
            drawn["now"] += 1
            drawn["most"] = max(drawn["most"], drawn["now"])
        time.sleep(0.1)
        with guard:
            drawn["now"] -= 1
        return PagePicture(b"", 1, 1, [])

    monkeypatch.setattr("footnotes.server.routes.documents.draw_highlights", draw)
    address = f"{server.address}/v1/documents/{document}/pages/1"
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: httpx.get(address, timeout=30, trust_env=False).status_code, range(16)))
    assert set(answers) == {200} and drawn["most"] == DRAW_THREADS
