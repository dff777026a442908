"""Calls to one Qdrant server, with timeouts, retries where they help, and every failure as one of our errors."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from footnotes import tracing
from footnotes.errors import (
    IndexFailed,
    IndexForeign,
    IndexMismatch,
    IndexMissing,
    IndexRefused,
    IndexUnavailable,
    MissingExtra,
)
from footnotes.index.qdrant.points import ForeignResponse
from footnotes.index.qdrant.settings import Endpoint
from footnotes.remote.circuit import Circuit
from footnotes.remote.deadline import backoff
from footnotes.remote.redact import redact

if TYPE_CHECKING:
    import httpx
    from qdrant_client import QdrantClient

T = TypeVar("T")

CONNECT_SECONDS = 3.0
COOLING_SECONDS = 5.0
"""For this time after an unanswered call, further calls fail at once."""
WRITE_ATTEMPTS = 4
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
CONNECTIONS = 64
MAX_BODY = 64 * 1024 * 1024
"""No expected response is this large."""
_BEGAN = "footnotes.began"


@dataclass(frozen=True, slots=True)
class Fault:
    """The failure of one attempt."""

    error: IndexFailed
    silent: bool = False
    """The server did not answer at all; otherwise it answered with an error."""
    cut: bool = False
    """The connection broke: a server that restarts breaks all kept connections at once."""
    late: bool = False
    """The response timed out: another attempt would wait as long again."""
    pause: float | None = None
    """The seconds that the server asked to wait."""


class Calls:
    """The connection, opened by the first call. Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, grpc_port: int = 0, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.endpoint = endpoint
        self.name = f"Qdrant at {endpoint.shown}"
        self._grpc_port = grpc_port
        self._sleep = sleep
        self._circuit = Circuit(self.name, failures=1, cooling=COOLING_SECONDS, error=IndexUnavailable)
        self._client: QdrantClient | None = None
        self._opening = threading.Lock()

    def read(self, call: Callable[[QdrantClient], T]) -> T:
        """Make a call that a search waits for: one attempt, and a second only if a kept connection broke."""
        return self._attempt(call, lambda fault, attempt: fault.cut and attempt == 1)

    def write(self, call: Callable[[QdrantClient], T]) -> T:
        """Make a call that may take a while and is safe to repeat: retried with growing delays."""
        return self._attempt(call, self._wait)

    def close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def failed(self, kind: type[IndexFailed], what: str) -> IndexFailed:
        """Build an error that names the server."""
        return kind(f"{self.name} {what}")

    def strange(self) -> IndexFailed:
        return self.failed(IndexUnavailable, "answered with something that is not from a Qdrant")

    # ── attempts

    def _attempt(self, call: Callable[[QdrantClient], T], again: Callable[[Fault, int], bool]) -> T:
        self._circuit.enter()
        client = self._connect()
        with tracing.span("index", database="qdrant"):
            for attempt in itertools.count(1):
                try:
                    result = call(client)
                except Exception as error:
                    fault = self._fault(error)
                    if fault is None:
                        raise
                    if not again(fault, attempt):
                        self._count(fault)
                        raise fault.error from error
                else:
                    self._circuit.succeeded()
                    return result
        raise AssertionError("counting does not end")

    def _count(self, fault: Fault) -> None:
        if fault.silent:
            # A slow server gets a longer pause, because each attempt costs a caller the whole timeout.
            cooling = max(COOLING_SECONDS, 3 * self.endpoint.seconds) if fault.late else None
            self._circuit.failed(fault.error.message, cooling=cooling)
        else:
            self._circuit.succeeded()

    def _wait(self, fault: Fault, attempt: int) -> bool:
        """Wait as long as the server asked, or with growing delays and full jitter; False if a retry cannot help."""
        if attempt >= WRITE_ATTEMPTS or fault.late or not isinstance(fault.error, IndexUnavailable):
            return False
        wait = backoff(attempt + 1, retry_after=fault.pause, first=FIRST_WAIT)
        self._sleep(min(LONGEST_WAIT, wait))
        return True

    def _connect(self) -> QdrantClient:
        with self._opening:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> QdrantClient:
        try:
            import httpx
            from qdrant_client import QdrantClient
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{self.name} needs the package 'qdrant-client', which is not installed",
                remedy='pip install "footnotes[qdrant]"',
            ) from error
        # The key goes into a header: with `api_key` the client would warn about every unencrypted connection.
        options: dict[str, Any] = {
            "limits": httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            "event_hooks": {"request": [self._prepare], "response": [self._bound]},
            "trust_env": False,
        }
        return QdrantClient(
            url=self.endpoint.url,
            port=None,
            headers=dict(self.endpoint.headers),
            timeout=max(1, round(self.endpoint.seconds)),
            grpc_port=self._grpc_port or 6334,
            prefer_grpc=self._grpc_port > 0,
            check_compatibility=False,
            **options,
        )

    def _prepare(self, request: httpx.Request) -> None:
        """Set timeouts, which the client only takes in whole seconds and alike, and ask for an uncompressed response.

        Qdrant writes compressed responses in two pieces, and the second waits for the acknowledgement of the first, 40
        ms on Linux.
        """
        seconds = self.endpoint.seconds
        connect = min(CONNECT_SECONDS, seconds)
        request.extensions["timeout"] = {"connect": connect, "read": seconds, "write": seconds, "pool": seconds}
        request.extensions[_BEGAN] = time.monotonic()
        request.headers.update({"accept-encoding": "identity", **tracing.headers()})

    def _bound(self, response: httpx.Response) -> None:
        """Limit time and memory for the response, however slow or endless it is."""
        until = response.request.extensions[_BEGAN] + self.endpoint.seconds
        response.stream = _bounded(response.stream, response.request, until)

    # ── failures

    def _fault(self, error: Exception) -> Fault | None:
        """Translate the client's error to ours; None if it is a bug of this program."""
        import grpc
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        if isinstance(error, UnexpectedResponse):
            return Fault(self._of_status(error.status_code or 0, _message_in(error.content)))
        if isinstance(error, ResponseHandlingException):
            return self._of_connection(error.source)
        # The client takes any 200 for a response of Qdrant, and fails on its content.
        if isinstance(
            error, json.JSONDecodeError | UnicodeDecodeError | AssertionError | RecursionError | ForeignResponse
        ):
            return self._of_connection(error)
        if isinstance(error, QdrantException):
            pause = getattr(error, "retry_after_s", None)
            return Fault(self.failed(IndexUnavailable, "asks for a pause: it has too much to do"), pause=pause)
        if isinstance(error, grpc.RpcError):
            return self._of_code(error)
        return None

    def _of_connection(self, source: Exception) -> Fault:
        import httpx

        if isinstance(source, httpx.ConnectTimeout | httpx.ConnectError):
            return self._silent("cannot be reached")
        if isinstance(source, httpx.TimeoutException):
            return self._late()
        if isinstance(source, httpx.HTTPError):
            return Fault(self.failed(IndexUnavailable, "broke off the connection"), silent=True, cut=True)
        return Fault(self.strange())

    def _of_code(self, error: Any) -> Fault:
        """Translate gRPC's own error codes."""
        code, message = error.code().name, error.details() or ""
        if code == "UNAVAILABLE":
            return self._silent("cannot be reached")
        if code == "DEADLINE_EXCEEDED":
            return self._late()
        return Fault(self._of_status(_STATUS_OF_CODE.get(code, 500), message))

    def _late(self) -> Fault:
        error = self.failed(IndexUnavailable, f"did not answer within {self.endpoint.seconds:g} s")
        return Fault(error, silent=True, late=True)

    def _silent(self, what: str) -> Fault:
        return Fault(self.failed(IndexUnavailable, what), silent=True)

    def _of_status(self, status: int, message: str | None) -> IndexFailed:
        if status in (401, 403):
            return self.failed(IndexRefused, f"refused the key or what it may do ({status})")
        if status == 413:
            return self.failed(IndexFailed, "refused a call because there was too much in it (413)")
        if message is None:
            return self.failed(IndexUnavailable, f"answered {status}, and not as a Qdrant would")
        return self.failed(*_classify(status, message, redact(message, self.endpoint.secrets)))


def _bounded(stream: Any, request: httpx.Request, until: float) -> Any:
    """Yield the pieces of a body, up to a size and a time."""
    import httpx

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in stream:
                size += len(piece)
                if size > MAX_BODY:
                    raise ForeignResponse(f"more than {MAX_BODY >> 20} MB")
                if time.monotonic() > until:
                    raise httpx.ReadTimeout("the answer did not end in time", request=request)
                yield piece

        def close(self) -> None:
            stream.close()

    return Bounded()


def _classify(status: int, message: str, quoted: str) -> tuple[type[IndexFailed], str]:
    if status == 409 or "already exists" in message:
        return IndexForeign, f"has something else of that name: {quoted}"
    if status == 404 and "ollection" in message:
        return IndexMissing, f"has no such collection: {quoted}"
    if "Not existing vector name" in message:
        return IndexForeign, f"has a collection of that name that is not ours: {quoted}"
    if "imension error" in message:
        return IndexMismatch, f"holds vectors of another length: {quoted}"
    if status >= 500 or status == 429:
        return IndexUnavailable, f"failed with {status}: {quoted}"
    return IndexFailed, f"refused a call with {status}: {quoted}"


_STATUS_OF_CODE = {
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
}


def _message_in(content: bytes) -> str | None:
    """Return the message in the server's response; None if it does not look like one of Qdrant's."""
    try:
        status = json.loads(content)["status"]
        return str(status["error"])
    except (ValueError, TypeError, KeyError):
        return None
