"""Builds the application from the settings: routes, the gate before them, errors in one shape, start and stop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnotes import __version__, errors
from footnotes.server.gate import Gate, request_id_of
from footnotes.server.mcp import Sessions
from footnotes.server.openapi import describe
from footnotes.server.pages import Compress, load_page, page_router
from footnotes.server.responses import SafeJson, error_response, translate_error
from footnotes.server.routes import api as api_routes
from footnotes.server.routes import (
    catalogue,
    changing,
    collections,
    connections,
    conversations,
    documents,
    exports,
    finding,
    openai,
    rag,
    service,
    socket,
    sources,
    texts,
    work,
)
from footnotes.server.state import ServerState, build_state
from footnotes.server.strict import check_nodes, run_off_loop
from footnotes.settings import Settings, load


class Server:
    """The application with its state; an ASGI application itself."""

    def __init__(self, api: FastAPI, state: ServerState, gate: ASGIApp) -> None:
        self.api = api
        self.state = state
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate(scope, receive, send)


def create_app(
    folder: str | Path | None = None, *, settings: Settings | None = None, needs_keys: bool = False, local: bool = True
) -> Server:
    """Build the server of the library in a folder. `local` means that it listens only on this machine."""
    own_settings = settings or load(None if folder is None else Path(folder).expanduser())
    own_settings = replace(own_settings, quote_providers=False)  # error details of a provider are only for the operator
    root = Path(folder or own_settings.library).expanduser()
    state = build_state(root, own_settings, needs_keys=needs_keys)
    sessions = Sessions(state)
    api = FastAPI(
        title="Footnotes",
        version=__version__,
        description="Answers from your own documents. Every sentence has a footnote to its source.",
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
        lifespan=_lifespan(state, sessions),
        default_response_class=SafeJson,
    )
    api.state.server = state
    parts = (
        documents,
        changing,
        catalogue,
        texts,
        collections,
        finding,
        conversations,
        exports,
        connections,
        sources,
        work,
        openai,
        rag,
        api_routes,
        service,
        socket,
    )
    for part in parts:
        api.include_router(part.router)
    api.include_router(page_router(load_page()))
    api.router.routes.append(Route("/mcp", _Mcp(sessions, own_settings.serve_json_nodes)))
    _add_error_handlers(api)
    describe(api, [route for part in parts for route in part.router.routes])
    return Server(api, state, Gate(Compress(_with_cors(api, own_settings)), state, local=local))


class _Mcp:
    """The route of the Model Context Protocol."""

    def __init__(self, sessions: Sessions, most_nodes: int) -> None:
        self._sessions = sessions
        self._most_nodes = most_nodes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await run_off_loop(len(body), check_nodes, body, self._most_nodes)
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self._sessions.handle(scope, body, replay, send)


def _lifespan(state: ServerState, sessions: Sessions) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.intake.start()
        if not state.settings.read_only:
            state.schedule.start()
        try:
            async with sessions.run():
                yield
        finally:
            await state.running_answers.close()
            state.close()

    return lifespan


def _with_cors(api: FastAPI, settings: Settings) -> ASGIApp:
    if not settings.serve_cors:
        return api
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(
        api, allow_origins=list(settings.serve_cors), allow_methods=["*"], allow_headers=["*"], allow_credentials=False
    )


# ── errors


def _add_error_handlers(api: FastAPI) -> None:
    async def handle_known(request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.FootnotesError)
        _count(request, error.code)
        return error_response(error, request_id_of(request.scope), request.url.path)

    async def handle_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await handle_known(request, errors.RequestInvalid(_describe_mistake(error)))

    async def handle_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, errors.FootnotesError):
            return await handle_known(request, error.__cause__)
        found = _translate_http(error)
        _count(request, found.code)
        answer = error_response(found, request_id_of(request.scope), request.url.path, error.status_code)
        answer.headers.update(error.headers or {})
        if error.status_code == 405:
            answer.headers["Allow"] = _allowed_methods(request)
        return answer

    async def handle_crash(request: Request, error: Exception) -> Response:
        return error_response(translate_error(error), request_id_of(request.scope), request.url.path)

    api.add_exception_handler(Exception, handle_crash)
    api.add_exception_handler(errors.FootnotesError, handle_known)
    api.add_exception_handler(RequestValidationError, handle_invalid)
    api.add_exception_handler(HTTPException, handle_http)


def _allowed_methods(request: Request) -> str:
    """Return the methods of every route at an address. The router itself names only those of the first."""
    found: set[str] = set()
    for path, methods in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.scope["path"]):
            found |= {method.upper() for method in methods}
    return ", ".join(sorted(found))


def _count(request: Request, code: str) -> None:
    request.app.state.server.metrics.errors.labels(code).inc()


def _describe_mistake(error: RequestValidationError) -> str:
    """Describe the first mistake of a request, without quoting the request."""
    found = error.errors()[0] if error.errors() else {"loc": (), "msg": "not understood"}
    place = ".".join(str(part) for part in found["loc"]) or "the request"
    return f"{place}: {found['msg']}"[:300]


def _translate_http(error: HTTPException) -> errors.FootnotesError:
    if error.status_code == 404:
        return errors.NotFound("there is nothing at this address", remedy="See /openapi.json for all routes.")
    if error.status_code == 405:
        return errors.MethodRefused("this address does not support the method")
    return errors.RequestInvalid(str(error.detail)[:300])
