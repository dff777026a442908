"""Settings → the application: routes, the gate before them, errors in one shape, a beginning and an end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnotes import __version__, errors
from footnotes.config import Settings, load
from footnotes.serve.answers import SafeJson, as_known, error_answer
from footnotes.serve.gate import Gate, request_id_of
from footnotes.serve.mcp import make_manager
from footnotes.serve.openapi import describe
from footnotes.serve.pages import load_page, page_router
from footnotes.serve.routes import api as api_routes
from footnotes.serve.routes import (
    collections,
    connections,
    conversations,
    documents,
    finding,
    openai,
    rag,
    service,
    socket,
    texts,
    work,
)
from footnotes.serve.state import ServerState, make_state
from footnotes.serve.strict import check_nodes, off_loop


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
    """The server over the library in a folder. `local` says that it listens on this machine alone."""
    chosen = settings or load(None if folder is None else Path(folder).expanduser())
    chosen = replace(chosen, quote_providers=False)  # what a provider says is for the operator, not for callers
    root = Path(folder or chosen.library).expanduser()
    state = make_state(root, chosen, needs_keys=needs_keys)
    sessions = make_manager(state)
    api = FastAPI(
        title="Footnotes",
        version=__version__,
        description="Answers from your own documents, each sentence with a footnote to where it came from.",
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
        lifespan=_lifespan(state, sessions),
        default_response_class=SafeJson,
    )
    api.state.server = state
    parts = (
        documents,
        texts,
        collections,
        finding,
        conversations,
        connections,
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
    api.router.routes.append(Route("/mcp", _Mcp(sessions, chosen.serve_json_nodes)))
    _shape_errors(api)
    describe(api, [route for part in parts for route in part.router.routes])
    return Server(api, state, Gate(_with_cors(api, chosen), state, local=local))


class _Mcp:
    """The route of the Model Context Protocol."""

    def __init__(self, sessions: StreamableHTTPSessionManager, most_nodes: int) -> None:
        self._sessions = sessions
        self._most_nodes = most_nodes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await off_loop(len(body), check_nodes, body, self._most_nodes)
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        await self._sessions.handle_request(scope, again, send)


def _lifespan(state: ServerState, sessions: StreamableHTTPSessionManager) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.intake.start()
        try:
            async with sessions.run():
                yield
        finally:
            await state.conversing.close()
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


def _shape_errors(api: FastAPI) -> None:
    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.FootnotesError)
        _count(request, error.code)
        return error_answer(error, request_id_of(request.scope), request.url.path)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await known(request, errors.RequestInvalid(_mistake(error)))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, errors.FootnotesError):
            return await known(request, error.__cause__)
        found = _as_error(error)
        _count(request, found.code)
        answer = error_answer(found, request_id_of(request.scope), request.url.path, error.status_code)
        answer.headers.update(error.headers or {})
        if error.status_code == 405:
            answer.headers["Allow"] = _allowed(request)
        return answer

    async def crashed(request: Request, error: Exception) -> Response:
        return error_answer(as_known(error), request_id_of(request.scope), request.url.path)

    api.add_exception_handler(Exception, crashed)
    api.add_exception_handler(errors.FootnotesError, known)
    api.add_exception_handler(RequestValidationError, invalid)
    api.add_exception_handler(HTTPException, http)


def _allowed(request: Request) -> str:
    """The methods of every route at an address; the router itself names those of the first alone."""
    found: set[str] = set()
    for path, methods in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.scope["path"]):
            found |= {method.upper() for method in methods}
    return ", ".join(sorted(found))


def _count(request: Request, code: str) -> None:
    request.app.state.server.metrics.errors.labels(code).inc()


def _mistake(error: RequestValidationError) -> str:
    """What is wrong with a request, without what was in it."""
    found = error.errors()[0] if error.errors() else {"loc": (), "msg": "not understood"}
    place = ".".join(str(part) for part in found["loc"]) or "the request"
    return f"{place}: {found['msg']}"[:300]


def _as_error(error: HTTPException) -> errors.FootnotesError:
    if error.status_code == 404:
        return errors.NotFound("there is nothing at this address", remedy="See /openapi.json for what there is.")
    if error.status_code == 405:
        return errors.MethodRefused("this address does not know the method")
    return errors.RequestInvalid(str(error.detail)[:300])
