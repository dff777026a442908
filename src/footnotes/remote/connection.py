"""A connection to a Footnotes server: requests in its wire format, and its errors as those of the tree."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from footnotes.errors import (
    FootnotesError,
    MissingExtra,
    ProviderBadResponse,
    ProviderTimeout,
    ProviderUnavailable,
    all_errors,
)

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
LONGEST_WAIT = 30.0
_NAME = "the Footnotes server"
_BLOCK = 1 << 20


class Connection:
    """One server. Requests that it defers (429, 503) are sent again when it asks. Safe between threads."""

    def __init__(self, address: str, *, key: str = "", timeout: float = 120.0) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            remedy = 'pip install "footnotes[client]"'
            raise MissingExtra("a client needs the package 'httpx', which is not installed", remedy=remedy) from error
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=timeout)
        self.address = address.rstrip("/")

    def close(self) -> None:
        self._http.close()

    def json(self, method: str, path: str, **request: object) -> Any:
        """Send a request and return the JSON of the response. Parameters that are None are not sent."""
        return parse_json(self._send(method, path, **request))

    def save(self, path: str, file: Path) -> None:
        """Write the bytes of a response to a file."""
        with self._open_stream("GET", path) as response, file.open("wb") as out:
            for block in response.iter_bytes(_BLOCK):
                out.write(block)

    def events(self, method: str, path: str, **request: object) -> Iterator[Any]:
        """Yield the data of server-sent events."""
        with self._open_stream(method, path, headers={"Accept": "text/event-stream"}, **request) as response:
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def _send(self, method: str, path: str, **request: object) -> httpx.Response:
        for attempt in range(1, ATTEMPTS + 1):
            with _TranslateErrors(self.address):
                response = self._http.request(method, path, **_drop_none(request))
            wait = _wait_seconds(response)
            if wait is None or attempt == ATTEMPTS:
                break
            time.sleep(wait)
        if not response.is_success:
            raise error_in(response)
        return response

    def _open_stream(self, method: str, path: str, **request: object) -> _Stream:
        return _Stream(self._http.stream(method, path, **_drop_none(request)), self.address)


class _Stream:
    """A streamed response; raises the error of an error status."""

    def __init__(self, opening: AbstractContextManager[httpx.Response], address: str) -> None:
        self._opening, self._translating = opening, _TranslateErrors(address)

    def __enter__(self) -> httpx.Response:
        with self._translating:
            response = self._opening.__enter__()
            if not response.is_success:
                response.read()
        if not response.is_success:
            self._opening.__exit__(None, None, None)
            raise error_in(response)
        return response

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opening.__exit__(kind, error, trace)
        self._translating.__exit__(kind, error, trace)


class _TranslateErrors:
    """Translates errors of the transport to errors of the tree."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import httpx

        remedy = "Check the address and that the server runs there."
        if isinstance(error, httpx.TimeoutException):
            raise ProviderTimeout(f"{_NAME} at {self._address} did not respond in time") from error
        if isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol):
            raise ProviderUnavailable(f"{_NAME} cannot be reached at {self._address}", remedy=remedy) from error
        if isinstance(error, httpx.HTTPError):
            raise ProviderUnavailable(f"{_NAME} at {self._address} closed the connection") from error


def _drop_none(request: Mapping[str, object]) -> dict[str, Any]:
    def drop(values: object) -> object:
        return {name: one for name, one in values.items() if one is not None} if isinstance(values, dict) else values

    return {name: drop(values) if name in ("params", "data", "json") else values for name, values in request.items()}


def _wait_seconds(response: httpx.Response) -> float | None:
    """How long the server asks to wait; None if the response is final."""
    value = response.headers.get("retry-after", "")
    if response.status_code not in (429, 503) or not value.isdigit() or float(value) > LONGEST_WAIT:
        return None
    return float(value)


def parse_json(response: httpx.Response) -> object:
    try:
        return response.json()
    except ValueError as error:
        raise ProviderBadResponse(f"{_NAME} at {response.url.host} did not respond with JSON") from error


def error_in(response: httpx.Response) -> FootnotesError:
    """Build the error that the server raised from its response."""
    try:
        fields = response.json()["error"]
        code, message, remedy = str(fields["code"]), str(fields["message"]), str(fields["remedy"])
    except (ValueError, KeyError, TypeError):
        return ProviderBadResponse(f"{_NAME} at {response.url.host} answered with status {response.status_code}")
    return build_error(code, message, remedy)


def build_error(code: str, message: str, remedy: str) -> FootnotesError:
    kind = next((kind for kind in all_errors() if kind.code == code), FootnotesError)
    return kind(message, remedy=remedy)
