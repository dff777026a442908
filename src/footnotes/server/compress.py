"""Compresses whole responses for clients that accept gzip. Streams pass unchanged."""

from __future__ import annotations

import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnotes.server.strict import run_off_loop

SMALLEST = 1_000
"""Smaller bodies are not compressed."""
_LEVEL = 5
_MEDIA_TYPES = ("application/json", "text/plain", "text/html", "text/markdown")


class Compress:
    """An ASGI middleware. Pictures, originals, streams and compressed bodies pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _accepts_gzip(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        held: list[Message] = []

        async def send_compressed(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_compressible(message):
                held.append(message)  # its length is not known yet
                return
            if held:
                message = await _compress(held[0], message)
                await send(held.pop())
            await send(message)

        await self._app(scope, receive, send_compressed)


def _accepts_gzip(headers: Headers) -> bool:
    offers = [part.replace(" ", "").lower() for part in headers.get("accept-encoding", "").split(",")]
    return any(part == "gzip" or (part.startswith("gzip;") and not part.endswith(("q=0", "q=0.0"))) for part in offers)


def _is_compressible(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith(_MEDIA_TYPES) and "content-encoding" not in headers


async def _compress(start: Message, first: Message) -> Message:
    """Compress the first part of a body if it is the whole body, and set the headers accordingly."""
    body: bytes = first.get("body", b"")
    if first.get("more_body", False) or len(body) < SMALLEST:
        return first
    packed = await run_off_loop(len(body), gzip.compress, body, _LEVEL)
    headers = MutableHeaders(scope=start)
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(packed))
    headers.add_vary_header("Accept-Encoding")
    return {**first, "body": packed}
