"""Client connections: a limited number, each with deadlines.

The gate limits bodies while they are read. This module limits what comes before and after: headers, a request that
continues after its response, and a response that is not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from footnotes.errors import ClientTooSlow, FootnotesError, HeadersTooLarge, RequestInvalid, ServerBusy
from footnotes.server.responses import dump_json, error_body
from footnotes.settings import Settings

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

MOST_HEADER_BYTES = 64 * 1024
LINGER_SECONDS = 2.0
"""How long a client that still sends may take to read the end of its response."""
_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class ConnectionCounter:
    """Counts open connections, in all and by address. A limit of zero is none."""

    def __init__(self, most: int, most_of_address: int) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._by_address: Counter[str] = Counter()
        self.open = 0

    def add(self, address: str) -> None:
        """Count a connection; raise if there are too many. It is counted in either case."""
        self.open += 1
        self._by_address[address] += 1
        if self._most and self.open > self._most:
            raise ServerBusy(f"{self._most} connections are already open")
        if self._most_of_address and self._by_address[address] > self._most_of_address:
            raise ServerBusy(f"{self._most_of_address} connections of this address are already open")

    def remove(self, address: str) -> None:
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    counted: ConnectionCounter
    header_seconds = 10.0
    send_seconds = 60.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._is_ending = False
        self._last: RequestResponseCycle | None = None

    # ── a connection begins and ends

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        try:
            self.counted.add(self._address)
        except ServerBusy as error:
            self._refuse(error, 503)
        else:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self.counted.remove(self._address)
        self._stop_waiting()
        self._unset_end()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection to another protocol; it counts until that protocol loses it."""
        self._stop_waiting()
        super().handle_websocket_upgrade()
        successor: Any = self.transport.get_protocol()
        lost, address = successor.connection_lost, self._address

        def connection_lost(exc: Exception | None) -> None:
            self.counted.remove(address)
            lost(exc)

        successor.connection_lost = connection_lost

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    # ── reading from a client

    def data_received(self, data: bytes) -> None:
        if self._is_ending:  # read and dropped: a reset could lose the response
            return
        super().data_received(data)
        if self.transport.is_closing() or self._is_ending:
            return
        if self._deadline is not None:
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._refuse(HeadersTooLarge(f"the headers are larger than {MOST_HEADER_BYTES:,} bytes"), 431)
        elif self.cycle is not None and self.cycle.response_complete:
            self._await_headers()  # empty lines between requests begin none

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        previous = self.cycle
        super().on_headers_complete()
        if self.cycle is not previous:
            self._announce_end(self.cycle)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP in the shape of all errors."""
        self._refuse(RequestInvalid("the request is not valid HTTP"), 400)

    def _await_headers(self) -> None:
        if self._deadline is None:
            self._header_bytes = 0
            self._deadline = self.loop.call_later(self.header_seconds, self._refuse_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse_slow(self) -> None:
        self._deadline = None
        if self._header_bytes == 0:
            self.transport.close()  # nothing was sent: there is nothing to answer
        else:
            self._refuse(ClientTooSlow("the headers took too long to arrive"), 408)

    # ── writing to a client

    def _announce_end(self, cycle: RequestResponseCycle) -> None:
        """Say `connection: close` in a response that starts before its request has ended.

        The connection ends with that response. A client that was not told would send its next request on it.
        """
        send = cycle.send

        async def announce(message: ASGISendEvent) -> None:
            if message["type"] == "http.response.start" and cycle.more_body and cycle.keep_alive:
                self._last = cycle
                await send({**message, "headers": [*message.get("headers", []), (b"connection", b"close")]})
                cycle.keep_alive = True  # or uvicorn closes at once, and a reset could lose the response
            else:
                await send(message)

        cycle.send = announce  # type: ignore[method-assign]

    def on_response_complete(self) -> None:
        """End the connection of a request that continued after its response had started."""
        ends = self.cycle.more_body or self.cycle is self._last
        unfinished = not self.pipeline and self.cycle.response_complete and ends
        super().on_response_complete()
        if unfinished and not self.transport.is_closing():
            self._finish()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_end(self.send_seconds)

    def resume_writing(self) -> None:
        self._unset_end()
        super().resume_writing()

    def _refuse(self, error: FootnotesError, status: int) -> None:
        body = dump_json(error_body(error, secrets.token_hex(8))).encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\nx-content-type-options: nosniff\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._finish()

    def _finish(self) -> None:
        """End the connection: send nothing more, and drop what still arrives for a moment."""
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self._is_ending = True
        self._set_end(LINGER_SECONDS)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def eof_received(self) -> None:
        if self._is_ending:
            self.transport.close()

    def _set_end(self, seconds: float) -> None:
        self._unset_end()
        self._end = self.loop.call_later(seconds, self.transport.abort)

    def _unset_end(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


def most_connections(settings: Settings, descriptors: int) -> tuple[int, int]:
    """Return the limits in all and per address: from the settings, but low enough to leave file descriptors free."""
    room = descriptors * 3 // 4
    most = min(settings.serve_connections or room, room)
    of_address = settings.serve_address_connections
    return most, min(of_address, max(most // 2, 1)) if of_address and most < settings.serve_connections else of_address


def _descriptors() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


def connection_class(settings: Settings) -> type[Connection]:
    """Build the protocol class with the limits and the counter of a server."""
    counted = ConnectionCounter(*most_connections(settings, _descriptors()))
    limits = {"header_seconds": settings.serve_header_seconds, "send_seconds": settings.serve_send_seconds}
    return type("Connection", (Connection,), {"counted": counted, **limits})
