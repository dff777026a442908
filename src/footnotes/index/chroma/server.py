"""A Chroma behind HTTP: one client for all threads, that gives up in time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from footnotes.errors import IndexUnavailable
from footnotes.index.chroma.errors import checked, translated
from footnotes.index.chroma.settings import Endpoint
from footnotes.remote.circuit import Circuit

CONNECT_SECONDS = 3.0
COOLING_SECONDS = 5.0


class ServerConnection:
    """Calls pass unless the server did not answer a moment ago: a dead one costs one timeout, then nothing."""

    def __init__(self, endpoint: Endpoint, *, cooling: float = COOLING_SECONDS) -> None:
        self._endpoint = endpoint
        self._circuit = Circuit(endpoint.shown, failures=1, cooling=cooling, error=IndexUnavailable)
        self._client: Any = None
        self._opening = threading.Lock()

    @contextmanager
    def reading(self, name: str) -> Iterator[Any]:
        """The client for one call or two. `name` is the collection that is meant."""
        self._circuit.enter()
        try:
            with translated(self._endpoint.shown, self._endpoint.secrets):
                yield self._connect()
        except IndexUnavailable as error:
            self._circuit.failed(error.message)
            raise
        except BaseException:
            self._circuit.succeeded()  # it answered, if only with a refusal
            raise
        self._circuit.succeeded()

    writing = alone = reading

    def close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client._session.close()
                self._client = None

    def sweep(self) -> bool:
        """The files are the server's: what was removed stays in them until its owner runs `chroma vacuum`."""
        return False

    def _connect(self) -> Any:
        with self._opening:
            if self._client is None:
                self._client = _client(self._endpoint)
            return self._client


def _client(endpoint: Endpoint) -> Any:
    """The official client, with a session of our own: its own waits for ever, and asks proxies for loopback."""
    import httpx
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    make: Any = Settings  # a file .env beside a program is none of our settings
    settings = make(
        _env_file=None,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=endpoint.url,
        chroma_server_http_port=0,
        chroma_server_ssl_enabled=endpoint.url.startswith("https"),
        anonymized_telemetry=False,
    )
    interface: Any = ServerAPI
    client: Any = System(settings).instance(interface)
    headers = {**client._session.headers, **endpoint.headers}
    client._session.close()
    client._session = httpx.Client(
        timeout=httpx.Timeout(endpoint.seconds, connect=min(CONNECT_SECONDS, endpoint.seconds)),
        headers=headers,
        trust_env=False,
        event_hooks={"response": [lambda response: checked(response, endpoint.shown)]},
    )
    return client
