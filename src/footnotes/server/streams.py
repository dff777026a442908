"""Server-sent events: limited in number, kept alive, ended when the client or its key is gone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.responses import StreamingResponse

from footnotes.errors import FootnotesError, ServerBusy, Unauthorized
from footnotes.server.keys import Caller, Keys
from footnotes.server.responses import dump_json, error_body
from footnotes.server.threads import Threads
from footnotes.wire import to_json

T = TypeVar("T")
CHECK_SECONDS = 2.0
ALIVE_SECONDS = 15.0
SMALLEST_SHARE = 4
MOST_UNKNOWN = 64
_SSE_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Streams:
    """Counts open streams, and ends those of revoked keys. With keys, no tenant has more than its share."""

    def __init__(self, most: int, keys: Keys, slowly: Threads) -> None:
        self._most = most
        self._share = max(most // 4, SMALLEST_SHARE)
        self._threads = slowly
        self._keys = keys
        self._of: Counter[str] = Counter()
        self.open = 0
        self.unknown = 0

    @contextmanager
    def count(self, caller: Caller) -> Iterator[None]:
        self.check_room(caller)
        self.open += 1
        self._of[caller.tenant] += 1
        try:
            yield
        finally:
            self.open -= 1
            self._of[caller.tenant] -= 1
            if not self._of[caller.tenant]:
                del self._of[caller.tenant]

    def check_room(self, caller: Caller) -> None:
        if self.open >= self._most:
            raise ServerBusy(f"{self._most} streams are already open")
        if caller.key_id and self._of[caller.tenant] >= self._share:
            raise ServerBusy(f"{self._share} streams of this tenant are already open")

    @contextmanager
    def count_unknown(self) -> Iterator[None]:
        """Count a connection without a key so far: few may wait at once, and none counts as a stream."""
        if self.unknown >= MOST_UNKNOWN:
            raise ServerBusy(f"{MOST_UNKNOWN} connections have not sent a key yet")
        self.unknown += 1
        try:
            yield
        finally:
            self.unknown -= 1

    def check_key(self, caller: Caller) -> None:
        """Raise if the key of an open stream was revoked."""
        if caller.key_id and not self._keys.is_live(caller.key_id):
            raise Unauthorized("the key is no longer valid")

    async def pull(self, items: Iterator[T], caller: Caller) -> AsyncIterator[T | None]:
        """Yield the items of a blocking iterator, run in threads; None from time to time while there is none.

        The iterator is closed in any case.
        """
        end = object()
        pending: asyncio.Task[Any] | None = None
        last_check, locked = time.monotonic(), _LockedIterator(items)
        with self.count(caller):
            try:
                while True:
                    pending = pending or asyncio.create_task(self._threads.run(locked.next, end))
                    await asyncio.wait({pending}, timeout=CHECK_SECONDS)
                    if time.monotonic() - last_check >= CHECK_SECONDS:
                        last_check = time.monotonic()
                        await asyncio.to_thread(self.check_key, caller)
                    if not pending.done():
                        yield None
                        continue
                    item, pending = pending.result(), None
                    if item is end:
                        return
                    yield item
            finally:
                if pending is not None:
                    pending.add_done_callback(_ignore_result)
                threading.Thread(target=locked.close, daemon=True).start()


class _LockedIterator:
    """An iterator for several threads: it cannot be closed while a thread is inside."""

    def __init__(self, items: Iterator[object]) -> None:
        self._items = items
        self._turn = threading.Lock()

    def next(self, end: object) -> object:
        with self._turn:
            return next(self._items, end)

    def close(self) -> None:
        with self._turn:
            if callable(close := getattr(self._items, "close", None)):
                close()


def _ignore_result(task: asyncio.Task[object]) -> None:
    """Retrieve the error of a step that is no longer awaited, because asyncio would log it."""
    if not task.cancelled():
        task.exception()


def prepend(first: T, rest: Iterator[T]) -> Iterator[T]:
    """Yield the first item, which the caller has taken already, then the rest; close the rest in any case."""
    try:
        yield first
        yield from rest
    finally:
        if callable(close := getattr(rest, "close", None)):
            close()


def event_line(name: str, value: object) -> str:
    return f"event: {name}\ndata: {dump_json(to_json(value))}\n\n"


def open_event_stream(
    streams: Streams,
    caller: Caller,
    items: AsyncIterator[T | None],
    request_id: str,
    *,
    write: Callable[[T], str],
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """Stream items as events, if there is room; an error becomes the last event."""
    streams.check_room(caller)
    return stream_events(items, request_id, write=write, headers=headers)


def stream_events(
    items: AsyncIterator[T | None],
    request_id: str,
    *,
    write: Callable[[T], str],
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """Stream items as events, for a stream that is counted already."""

    async def body() -> AsyncIterator[str]:
        alive = time.monotonic()
        try:
            async for item in items:
                if item is not None:
                    yield write(item)
                elif time.monotonic() - alive >= ALIVE_SECONDS:
                    alive = time.monotonic()
                    yield ": still here\n\n"
        except FootnotesError as error:
            yield event_line("error", {"type": "error", **error_body(error, request_id)})
        finally:
            if isinstance(items, AsyncGenerator):
                await items.aclose()

    return StreamingResponse(body(), media_type="text/event-stream", headers={**_SSE_HEADERS, **(headers or {})})
