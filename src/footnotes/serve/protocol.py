"""Connections that dawdle over their headers, or send too many, are dropped before anything else looks at them."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from footnotes.errors import ClientTooSlow, FootnotesError, HeadersTooLarge, RequestInvalid
from footnotes.serve.answers import as_json, error_body

MOST_HEADER_BYTES = 64 * 1024
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class Connection(HttpToolsProtocol):
    """One connection of a client. Bodies are the gate's affair; this is about what comes before them."""

    header_seconds = 10.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is not None and not self.transport.is_closing():
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._refuse(HeadersTooLarge(f"the headers are larger than {MOST_HEADER_BYTES:,} bytes"), 431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all is told so in the one shape of errors."""
        self._refuse(RequestInvalid("the request is not valid HTTP"), 400)

    def _await_headers(self) -> None:
        if self._deadline is None:
            self._header_bytes = 0
            self._deadline = self.loop.call_later(self.header_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if self._header_bytes == 0:
            self.transport.close()  # nothing was asked: there is nothing to answer
        else:
            self._refuse(ClientTooSlow("the headers took too long to arrive"), 408)

    def _refuse(self, error: FootnotesError, status: int) -> None:
        self._stop_waiting()
        body = as_json(error_body(error, secrets.token_hex(8))).encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\nx-content-type-options: nosniff\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def connection_class(header_seconds: float) -> type[Connection]:
    """Connections with a deadline of their own."""
    return type("Connection", (Connection,), {"header_seconds": header_seconds})
