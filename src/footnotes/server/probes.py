"""The HTTP probes of a worker: liveness, readiness and metrics."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from footnotes.errors import AddressRefused, FootnotesError
from footnotes.server.metrics import CONTENT_TYPE, Metrics


class Probes:
    """Listens while a worker runs. `failure` returns why the worker cannot work now, if it cannot."""

    def __init__(self, host: str, port: int, metrics: Metrics, failure: Callable[[], FootnotesError | None]) -> None:
        self._metrics = metrics
        self._failure = failure
        try:
            self._server = ThreadingHTTPServer((host, port), self._handler())
        except OSError as error:
            raise AddressRefused(f"the worker cannot listen on {host}:{port} ({error.strerror})") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="footnotes-probes", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        if path == "/metrics":
            return 200, CONTENT_TYPE, self._metrics.text()
        if path == "/livez":
            return 200, "application/json", b'{"status": "ok"}'
        if path == "/readyz":
            return self._readiness()
        return 404, "application/json", b'{"error": {"code": "not_found"}}'

    def _readiness(self) -> tuple[int, str, bytes]:
        failure = self._failure()
        if failure is None:
            return 200, "application/json", b'{"status": "ready"}'
        reply = {"status": "not ready", "code": failure.code, "reason": failure.message}
        return 503, "application/json", json.dumps(reply).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        probes = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                status, kind, body = probes.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Probes come every few seconds: do not log them."""

        return Handler
