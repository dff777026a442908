"""Chroma over HTTP: one client for all threads, with a timeout."""

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
    """Lets calls pass unless the server has just failed to answer: a dead server costs one timeout, then nothing."""

    def __init__(self, endpoint: Endpoint, *, cooling: float = COOLING_SECONDS) -> None:
        self._endpoint = endpoint
        self._circuit = Circuit(endpoint.shown, failures=1, cooling=cooling, error=IndexUnavailable)
        self._client: Any = None
        self._opening = threading.Lock()

    @contextmanager
    def reading(self, name: str) -> Iterator[object]:
        """Lend the client for one or two calls. `name` is the collection to use."""
        self._circuit.enter()
        try:
            with translated(self._endpoint.shown, self._endpoint.secrets):
                yield self._connect()
        except IndexUnavailable as error:
            self._circuit.failed(error.message)
            raise
        except BaseException:
            self._circuit.succeeded()  # it answered, even if with a refusal
            raise
        self._circuit.succeeded()

    writing = alone = reading

    def close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client._session.close()
                self._client = None

    def sweep(self) -> bool:
        """Return False: the server's owner must run `chroma vacuum` to purge deleted data from its files."""
        return False

    def _connect(self) -> object:
        with self._opening:
            if self._client is None:
                self._client = _client(self._endpoint)
            return self._client


def _client(endpoint: Endpoint) -> object:
    """Return the official client with our own session: its own has no timeout, and uses proxies for loopback."""
    import httpx
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    make: Any = Settings  # ignore a file .env in the working directory
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
