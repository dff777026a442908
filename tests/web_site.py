"""A web site on loopback for tests: pages, redirects, sitemaps, and a record of what was asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class Page:
    """An answer: its body, and how it is sent."""

    body: bytes | str = b""
    mime: str = "text/html"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


class Site:
    """The server. `pages` may be changed at any time; `asked` is every path that was asked for, in order."""

    def __init__(self) -> None:
        self.pages: dict[str, Page | Callable[[Any], Page]] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.site = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def asked_for(self) -> list[str]:
        """What was asked for besides robots.txt."""
        return [path for path in self.asked if path != "/robots.txt"]

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Server(ThreadingHTTPServer):
    site: Site
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that stops reading is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        site = self.server.site
        site.asked.append(self.path)
        site.headers.append({name.lower(): value for name, value in self.headers.items()})
        found = site.pages.get(self.path, Page("nothing here", "text/plain", 404))
        page = found(self) if callable(found) else found
        body = page.body.encode() if isinstance(page.body, str) else page.body
        self.send_response(page.status)
        if page.mime:
            self.send_header("content-type", page.mime)
        self.send_header("content-length", str(len(body) if page.length is None else page.length))
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return None
