"""One provider over HTTP: JSON in, JSON or a stream of lines out."""

from __future__ import annotations

import email.utils
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from footnotes import tracing
from footnotes.errors import (
    FootnotesError,
    MissingExtra,
    ProviderBadResponse,
    ProviderError,
    ProviderRateLimited,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
)
from footnotes.remote.circuit import Circuit
from footnotes.remote.deadline import Deadline, backoff
from footnotes.remote.redact import redact

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")

CONNECT_SECONDS = 5.0
MAX_BODY = 256 * 1024 * 1024
MAX_LINE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address and headers of a provider. `secrets` are only sent as headers."""

    provider: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_setting: str = ""
    lacks_key: bool = False
    timeout: float = 60.0
    attempts: int = 3
    proxy: str = field(default="", repr=False)
    quoted: bool = True
    resolve: Callable[[str, int, float], str] | None = None
    """Host, port and seconds → the address to connect to; raises if not allowed. None uses the system's resolver."""


def guarded_transport(resolve: Callable[[str, int, float], str]) -> httpx.HTTPTransport:
    """A transport that connects only to addresses that were checked, which prevents DNS rebinding."""
    import httpcore
    import httpx

    class Backend(httpcore.SyncBackend):
        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Any = None,
        ) -> httpcore.NetworkStream:
            try:
                address = resolve(host, port, timeout or CONNECT_SECONDS)
            except FootnotesError as error:
                raise ProviderRefused(error.message, remedy=error.remedy) from error
            return super().connect_tcp(address, port, timeout, local_address, socket_options)

    transport = httpx.HTTPTransport()
    transport._pool._network_backend = Backend()
    return transport


class Remote:
    """Calls one endpoint, with retries within the deadline. Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self._circuit = Circuit(endpoint.provider)
        self._client: httpx.Client | None = None
        self._opening = threading.Lock()

    def post(self, path: str, body: Mapping[str, object], *, deadline: Deadline | None = None) -> object:
        """POST a body; return the JSON object or list of the response."""
        return self._call(path, body, deadline)

    def get(self, path: str, *, deadline: Deadline | None = None) -> object:
        """GET an address; return the JSON object or list of the response."""
        return self._call(path, None, deadline)

    def _call(self, path: str, body: Mapping[str, object] | None, deadline: Deadline | None) -> object:
        until = deadline or Deadline(self.endpoint.timeout)
        with tracing.span("provider", provider=self.endpoint.provider, path=path):
            return self._retry(lambda: self._call_once(path, body, until), until)

    def lines(self, path: str, body: Mapping[str, object], *, deadline: Deadline | None = None) -> Iterator[str]:
        """POST a body; yield the lines of the response. Retries only until the first line."""
        found = self._stream_lines(path, body, deadline)
        return tracing.stream("provider", found, provider=self.endpoint.provider, path=path)

    def _stream_lines(self, path: str, body: Mapping[str, object], deadline: Deadline | None) -> Iterator[str]:
        until = deadline or Deadline(self.endpoint.timeout)

        def open_stream() -> tuple[str | None, Iterator[str]]:
            stream = self._lines_once(path, body, until)
            return next(stream, None), stream

        first, rest = self._retry(open_stream, until)
        if first is not None:
            yield first
            yield from rest

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    # ── one attempt

    def _call_once(self, path: str, body: Mapping[str, object] | None, until: Deadline) -> object:
        with self._response(path, body, until) as response:
            return parse_json(self.endpoint.provider, self._body(response, until))

    def _lines_once(self, path: str, body: Mapping[str, object], until: Deadline) -> Iterator[str]:
        with self._response(path, body, until) as response:
            pending = b""
            for chunk in response.iter_bytes():
                self._check_time(until)
                *whole, pending = (pending + chunk).split(b"\n")
                if len(pending) > MAX_LINE:
                    raise ProviderBadResponse(f"{self.endpoint.provider} sent an endless line")
                for line in whole:
                    yield line.decode("utf-8", "replace").rstrip("\r")
            if pending:
                yield pending.decode("utf-8", "replace")

    @contextmanager
    def _response(self, path: str, body: Mapping[str, object] | None, until: Deadline) -> Iterator[httpx.Response]:
        """Open a successful response; translate every failure. Without a body the method is GET."""
        provider = self.endpoint.provider
        if self.endpoint.lacks_key:
            remedy = f"Set {self.endpoint.key_setting}, or the variable {self.endpoint.key_setting.upper()}."
            raise ProviderRefused(f"{provider} needs a key, but none is set", remedy=remedy)
        client = self._http()
        import httpx

        self._check_time(until)
        read = until.remaining(self.endpoint.timeout)
        timeout = httpx.Timeout(read, connect=min(CONNECT_SECONDS, read))
        try:
            what: dict[str, Any] = {"method": "GET"} if body is None else {"method": "POST", "json": dict(body)}
            with client.stream(url=path, timeout=timeout, headers=tracing.headers(), **what) as response:
                if not response.is_success:
                    message = message_in(self._body(response, until).decode("utf-8", "replace"))
                    quoted = redact(message, self._secrets) if self.endpoint.quoted else ""
                    setting = self.endpoint.key_setting
                    fault = error_of_status(provider, response.status_code, response.headers, quoted, setting)
                    assert fault is not None
                    fault.status = response.status_code
                    raise fault
                yield response
        except httpx.TimeoutException as error:
            raise ProviderTimeout(f"{provider} did not respond within {read:.1f} s") from error
        except httpx.ConnectError as error:
            raise ProviderUnavailable(f"{provider} cannot be reached at {self._address}") from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise ProviderUnavailable(f"{provider} closed the connection") from error
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            if isinstance(error, ProviderError):
                raise
            raise ProviderUnavailable(
                f"the request to {provider} failed: {redact(str(error), self._secrets)}"
            ) from error

    def _body(self, response: httpx.Response, until: Deadline) -> bytes:
        """Read the whole body, in bounded time and memory."""
        parts, size = [], 0
        for chunk in response.iter_bytes():
            self._check_time(until)
            size += len(chunk)
            if size > MAX_BODY:
                raise ProviderBadResponse(f"{self.endpoint.provider} sent more than {MAX_BODY >> 20} MB")
            parts.append(chunk)
        return b"".join(parts)

    def _check_time(self, until: Deadline) -> None:
        if until.over:
            raise ProviderTimeout(f"{self.endpoint.provider} did not finish in time")

    def _http(self) -> httpx.Client:
        with self._opening:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> httpx.Client:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{self.endpoint.provider} needs the package 'httpx', which is not installed",
                remedy='pip install "footnotes[remote]"',
            ) from error
        resolve = self.endpoint.resolve
        return httpx.Client(
            transport=guarded_transport(resolve) if resolve else None,
            base_url=self.endpoint.base_url.rstrip("/") + "/",
            headers=dict(self.endpoint.headers),
            proxy=self.endpoint.proxy or None,
            trust_env=False,
            follow_redirects=False,
        )

    # ── retries

    def _retry(self, call: Callable[[], T], until: Deadline) -> T:
        for attempt in range(1, self.endpoint.attempts + 1):
            self._circuit.enter()
            try:
                result = call()
            except ProviderError as error:
                self._count(error)
                if attempt == self.endpoint.attempts or not error.retryable or not self._wait(error, attempt, until):
                    raise
            else:
                self._circuit.succeeded()
                return result
        raise AssertionError("an endpoint has at least one attempt")

    def _count(self, error: ProviderError) -> None:
        """A provider that answers, even with a refusal, is alive."""
        if isinstance(error, (ProviderUnavailable, ProviderTimeout)):
            self._circuit.failed()
        else:
            self._circuit.succeeded()

    def _wait(self, error: ProviderError, attempt: int, until: Deadline) -> bool:
        """Wait as asked, or longer each time with full jitter; False if the deadline leaves no time."""
        wait = backoff(attempt, retry_after=error.retry_after)
        if until.remaining(wait + 1.0) <= wait:
            return False
        self._sleep(wait)
        return True

    @property
    def _secrets(self) -> tuple[str, ...]:
        return self.endpoint.secrets

    @property
    def _address(self) -> str:
        """The address without a user, a password or a query that could hold a key."""
        rest = self.endpoint.base_url.partition("?")[0]
        scheme, _, host = rest.rpartition("//")
        return f"{scheme}//{host.rpartition('@')[2]}" if scheme else host.rpartition("@")[2]


# ── translates HTTP responses to errors of the tree ───────────────────────────────────────────────────────────


def error_of_status(
    provider: str, status: int, headers: Mapping[str, str], message: str, key_setting: str
) -> ProviderError | None:
    """The error of an HTTP status, with the provider's message; None for success."""
    if 200 <= status < 300:
        return None
    detail = f": {message}" if message else ""
    if status in (401, 403):
        remedy = f"Check the setting {key_setting}." if key_setting else None
        # An answer made without the provider quotes only this message, so it must name the setting too.
        setting = f" of the setting {key_setting}" if key_setting else ""
        return ProviderRefused(f"{provider} refused the key{setting} ({status}){detail}", remedy=remedy)
    if status == 429:
        error = ProviderRateLimited(f"{provider} asks to wait (429){detail}")
        error.retry_after = retry_after(headers)
        return error
    if status in (408, 504):
        return ProviderTimeout(f"{provider} took too long ({status}){detail}")
    if status >= 500 or status == 409:
        failed = ProviderUnavailable(f"{provider} failed ({status}){detail}")
        failed.retry_after = retry_after(headers)
        return failed
    if 300 <= status < 400:
        return ProviderBadResponse(f"{provider} sent a redirect ({status}), which is not followed")
    return ProviderRefused(f"{provider} refused the request ({status}){detail}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds a provider asks to wait, given as a number or as a date."""
    for name in ("retry-after-ms", "retry-after"):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            return max(0.0, float(value) / (1000.0 if name.endswith("ms") else 1.0))
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError):
            continue
    return None


def message_in(body: str) -> str:
    """Find the error message in a provider's body; the body itself if it is not JSON."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return "" if body.lstrip().startswith("<") else body
    found = parsed
    for _ in range(3):
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, dict):
            found = found.get("error") or found.get("message") or found.get("detail") or ""
    return found if isinstance(found, str) else ""


def parse_json(provider: str, body: bytes) -> object:
    """Parse the JSON object or list of a provider."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        kind = "an HTML page" if body.lstrip()[:1] == b"<" else "no valid JSON"
        raise ProviderBadResponse(f"{provider} answered with {kind}") from error
    if not isinstance(parsed, (dict, list)):
        raise ProviderBadResponse(f"{provider} answered with JSON that is neither an object nor a list")
    return parsed
