"""What every request passes first: its id, the caller, the rate, and limits on the size and time of its body."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnotes.errors import BodyTooLarge, ClientTooSlow, FootnotesError, OriginRefused, RateLimited, ServerBusy
from footnotes.server.keys import Caller
from footnotes.server.quota import KEY
from footnotes.server.responses import error_response, translate_error
from footnotes.server.state import ServerState
from footnotes.server.threads import TENANT
from footnotes.tracing import REQUEST_ID, span

_LOG = logging.getLogger("footnotes.server")
OPEN_PATHS = frozenset(("/", "/add", "/healthz", "/livez", "/readyz", "/startupz", "/openapi.json", "/favicon.ico"))
OPEN_FOLDERS = ("/static/",)
_GOOD_ID = re.compile(r"[\w.-]{1,64}")
_BYTES_A_SECOND = 64 * 1024
CLIENT_GONE = 499
"""The status in logs and metrics of a request whose client disconnected before the response."""
_LOCAL_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def request_id_of(scope: Scope) -> str:
    found: str = scope["footnotes.request_id"]
    return found


class Gate:
    """The outermost middleware. Nothing behind it runs for a request that it refuses."""

    def __init__(self, app: ASGIApp, state: ServerState, *, local: bool) -> None:
        self._app = app
        self._state = state
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if len(scope["path"]) > 1:  # a slash at the end names the same address, without a redirect
            scope["path"] = scope["path"].rstrip("/") or "/"
        headers = Headers(scope=scope)
        client_id = headers.get("x-request-id", "")
        request_id = client_id if _GOOD_ID.fullmatch(client_id) else secrets.token_hex(8)
        scope["footnotes.request_id"] = request_id
        REQUEST_ID.set(request_id)
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send, headers)
            return
        await self._http(scope, receive, send, headers, request_id)

    # ── HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send, headers: Headers, request_id: str) -> None:
        start = time.monotonic()
        response: dict[str, Any] = {"status": 0}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                response["status"] = message["status"]
                _add_headers(message, request_id)
            await send(message)

        try:
            self._check_origin(headers)
            if not _is_open(scope["path"]):
                self._check_site(headers)
            scope["footnotes.caller"] = await self._admit(scope, headers)
            limit = self._limit(headers)
            body = _Body(receive, limit, self._state.settings.serve_body_seconds, headers)
            with span("request", method=_method(scope["method"])):
                await self._app(scope, body, send_with_headers)
        except FootnotesError as error:
            self._state.metrics.errors.labels(error.code).inc()
            if not response["status"]:
                await error_response(error, request_id, scope["path"])(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # the server stops
            stopping = ServerBusy("the server is stopping")
            if not response["status"]:
                await error_response(stopping, request_id, scope["path"])(scope, receive, send_with_headers)
        except ClientDisconnect:
            response["status"] = CLIENT_GONE
        except Exception as error:
            found = translate_error(error)
            self._state.metrics.errors.labels(found.code).inc()
            _LOG.exception("a request failed", extra={"request_id": request_id, "reason": type(error).__name__})
            if not response["status"]:
                await error_response(found, request_id, scope["path"])(scope, receive, send_with_headers)
        finally:
            self._log_request(scope, response["status"], time.monotonic() - start, request_id)

    def _check_origin(self, headers: Headers) -> None:
        """Refuse pages of other origins; on loopback without keys, also other host names (DNS rebinding)."""
        host = headers.get("host", "")
        if self._local and not self._state.needs_keys and _host_name(host) not in _LOCAL_NAMES:
            raise OriginRefused("the request names a host that is not this machine")
        origin = headers.get("origin")
        if origin is None or origin in self._state.settings.serve_cors:
            return
        if _host_and_port(origin) != host:
            raise OriginRefused("the request comes from a page of another origin")

    def _check_site(self, headers: Headers) -> None:
        """Refuse pictures and links on other sites: browsers send no origin for them, but the site."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None:
            return  # it was checked
        referer = headers.get("referer")
        foreign = referer is not None and _host_and_port(referer) != headers.get("host", "")
        if site not in ("none", "same-origin") or (foreign and "sec-fetch-site" not in headers):
            raise OriginRefused("the request comes from a page of another site")

    async def _admit(self, scope: Scope, headers: Headers) -> Caller | None:
        path = scope["path"]
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if _is_open(path) or preflight:
            return None
        caller = await self._state.admit(key_from(headers), (scope.get("client") or ("",))[0])
        if caller.key_id:
            TENANT.set(caller.tenant)
            KEY.set(caller.key_id)
            await self._state.count(caller)
        return caller

    def _limit(self, headers: Headers) -> int:
        settings = self._state.settings
        upload = _is_upload(headers)
        limit = settings.serve_upload_bytes if upload else settings.serve_body_bytes
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            raise _too_large(limit, upload)
        return limit

    def _log_request(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "other")
        caller = scope.get("footnotes.caller")
        self._state.metrics.requests.labels(_method(scope["method"]), route, str(status)).inc()
        self._state.metrics.seconds.labels(route).observe(seconds)
        fields = {"request_id": request_id, "method": scope["method"], "route": route, "status": status}
        fields |= {"ms": round(seconds * 1000, 1), "key": caller.key_id if caller else ""}
        _LOG.info("request", extra=fields)

    # ── WebSocket

    async def _websocket(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Refuse a socket before it is accepted, or let it through: its key may also be in the first message."""
        try:
            self._check_origin(headers)
            if key_from(headers) or not self._state.needs_keys:
                scope["footnotes.caller"] = await self._admit({**scope, "method": "GET"}, headers)
        except RateLimited:
            await send({"type": "websocket.close", "code": 1013})
            return
        except FootnotesError:
            scope["footnotes.caller"] = None
            if headers.get("origin") and self._local:
                await send({"type": "websocket.close", "code": 1008})
                return
        await self._app(scope, receive, send)


class _Body:
    """A `receive` that limits the bytes of a body and the time it takes."""

    def __init__(self, receive: Receive, limit: int, seconds: float, headers: Headers) -> None:
        self._receive = receive
        self._limit = limit
        self._deadline = time.monotonic() + seconds
        self._count = 0
        self._reading = "content-length" in headers or "transfer-encoding" in headers
        self._is_upload = _is_upload(headers)

    async def __call__(self) -> Message:
        if not self._reading:
            return await self._receive()
        left = self._deadline + self._count / _BYTES_A_SECOND - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.0))
        except TimeoutError:
            raise ClientTooSlow("the body took too long to arrive") from None
        self._count += len(message.get("body", b""))
        if self._count > self._limit:
            raise _too_large(self._limit, self._is_upload)
        self._reading = bool(message.get("more_body"))
        return message


def _is_upload(headers: Headers) -> bool:
    return headers.get("content-type", "").startswith("multipart/")


def _too_large(limit: int, is_upload: bool) -> BodyTooLarge:
    setting = "serve_upload_bytes" if is_upload else "serve_body_bytes"
    remedy = f"Send less at once, or raise {setting} in the settings."
    return BodyTooLarge(f"the body is larger than {limit:,} bytes", remedy=remedy)


def _is_open(path: str) -> bool:
    """Return whether an address needs no key: the page, its files, and the health checks."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def key_from(headers: Headers) -> str | None:
    """Return the key of a request: `Authorization: Bearer …` or `X-API-Key`."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else headers.get("x-api-key")


def _add_headers(message: Message, request_id: str) -> None:
    headers = MutableHeaders(scope=message)
    headers["X-Request-ID"] = request_id
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")


def _host_name(host: str) -> str:
    """Return the host name without port and IPv6 brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _host_and_port(origin: str) -> str | None:
    """Return host and port of an origin; None if it is not an address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _method(method: str) -> str:
    return method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
