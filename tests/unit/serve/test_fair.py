"""What one tenant does is no reason for the others to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from mcp import Client

from footnotes.serve.streams import SLOW_THREADS
from serving import Running

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
