"""Tenants share the threads of a server."""

from __future__ import annotations

import asyncio
import threading

from footnotes.server.threads import TENANT, Threads


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
