"""Thread pools by kind of work, with a share for each tenant: none can take all threads."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from footnotes.plugins import split_name
from footnotes.settings import Settings

T = TypeVar("T")
TENANT: ContextVar[str] = ContextVar("tenant", default="")
"""The tenant of the request; empty if there is only one, which may use all threads."""
SLOW_THREADS = 64
SEARCH_THREADS = 4
"""Searches at once. More would wait for each other: Python runs one at a time between calls to native code."""
WAITING_THREADS = 40
"""Searches at once with an embedder or a store over a network."""
SHORT_THREADS = 40
KEY_THREADS = 8
EMBED_THREADS = 2
DRAW_THREADS = 4
"""Pages drawn at once: each needs a separate process."""


def search_threads(settings: Settings) -> int:
    """Return how many searches run at once."""
    here = split_name(settings.embedder)[0] in ("local", "hashing", "sentence-transformers") and not settings.store
    return max(SEARCH_THREADS if here else WAITING_THREADS, settings.serve_workers)


@dataclass(slots=True)
class _Share:
    """A tenant's share of a pool: how many calls run or wait, and how many may run."""

    room: asyncio.Semaphore
    calls: int = field(default=0)


class Threads:
    """A pool for one kind of work. Calls of a tenant beyond its share wait without a thread."""

    def __init__(self, count: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=f"footnotes-{name}")
        self._share = max(count * 3 // 8, min(2, count - 1), 1)
        self._shares: dict[str, _Share] = {}

    async def run(self, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Call a function in one of the threads, in the caller's context: its logs carry the request's id."""
        context = contextvars.copy_context()
        if not (tenant := TENANT.get()):
            return await asyncio.wrap_future(self._threads.submit(context.run, call, *arguments, **options))
        share = self._shares.setdefault(tenant, _Share(asyncio.Semaphore(self._share)))
        share.calls += 1
        try:
            await share.room.acquire()
        except BaseException:
            self._leave(tenant, share)
            raise
        return await asyncio.wrap_future(self._submit(tenant, share, context, call, *arguments, **options))

    def _submit(self, tenant: str, share: _Share, context: contextvars.Context, *call: Any, **options: Any) -> Any:
        """Start a call. It uses its share until the thread is free, also when its caller is gone."""
        loop = asyncio.get_running_loop()

        def free() -> None:
            share.room.release()
            self._leave(tenant, share)

        def ended(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop has ended before the call
                loop.call_soon_threadsafe(free)

        try:
            running = self._threads.submit(context.run, *call, **options)
        except BaseException:
            free()
            raise
        running.add_done_callback(ended)
        return running

    def _leave(self, tenant: str, share: _Share) -> None:
        share.calls -= 1
        if not share.calls:
            self._shares.pop(tenant, None)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Pools:
    """The threads of a server."""

    def __init__(self, settings: Settings) -> None:
        self.keys = Threads(KEY_THREADS, "keys")
        self.short = Threads(SHORT_THREADS, "short")
        self.slow = Threads(SLOW_THREADS, "slow")
        self.search = Threads(search_threads(settings), "search")
        self.embed = Threads(EMBED_THREADS, "embed")
        self.draw = Threads(DRAW_THREADS, "draw")

    def close(self) -> None:
        for threads in (self.keys, self.short, self.slow, self.search, self.embed, self.draw):
            threads.close()
