"""JSON bodies as strict as their standard: no NaN, no key twice, no number without end, no nesting without end.

A body is bounded before it is read: what validates it, and reports what is wrong with it, costs far more than its
bytes. Large ones are read in a thread, so that nothing that grows with a request runs on the event loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from footnotes.errors import RequestInvalid
from footnotes.serve.answers import SafeJson
from footnotes.serve.threads import Threads

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
SMALL_BYTES = 8 * 1024
"""Bodies up to this size are read on the event loop: a thread would cost more."""
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def check_nodes(body: bytes, most: int) -> None:
    """Refuse a JSON text with more than `most` values and keys, before anything is made of it."""
    if _nodes(body) > most and _nodes(_STRINGS.sub(b"", body)) > most:
        remedy = "Send less at once, or raise serve_json_nodes in the settings."
        raise RequestInvalid(f"the body has more than {most:,} values and keys", remedy=remedy)


def _nodes(body: bytes) -> int:
    """At least as many values and keys as a JSON text has: each but the first follows a comma, colon or bracket."""
    return 1 + sum(map(body.count, (b",", b":", b"[", b"{")))


def parsed(body: bytes, most_nodes: int, what: str = "the body") -> Any:
    """The value of a JSON text; what is wrong with it is an error without a word of it."""
    check_nodes(body, most_nodes)
    try:
        return json.loads(body, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise RequestInvalid(f"{what} is nested too deeply") from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestInvalid(f"{what} is not valid JSON{where}") from None


def validated(model: type[M], value: Any, place: str = "body") -> M:
    """A value as what a route expects; the first thing that is wrong is the error, without what was in it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)[0]
        said = ".".join(str(part) for part in (place, *found["loc"]) if part != "")
        raise RequestInvalid(f"{said or 'the body'}: {found['msg']}"[:300]) from None


async def off_loop(size: int, call: Callable[..., T], *given: Any) -> T:
    """Call a function whose time grows with a request: in a thread, unless the request is small."""
    return call(*given) if size <= SMALL_BYTES else await asyncio.to_thread(call, *given)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


class _StrictRequest(Request):
    """A request whose JSON body is read and validated at once; the framework gets a model and has nothing to do."""

    model: type[BaseModel] | None = None

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await off_loop(len(body), self._read, body)
        return self._json

    def _read(self, body: bytes) -> Any:
        value = parsed(body, self.app.state.server.settings.serve_json_nodes)
        return value if self.model is None else validated(self.model, value)


_POOL: ContextVar[Threads] = ContextVar("pool")


class StrictRoute(APIRoute):
    """A route whose JSON bodies are read strictly, and whose function has one of the tenant's threads.

    A dataclass that the function returns is answered as its JSON; `replies` are the types it may be of.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        returned = get_type_hints(endpoint)["return"]
        self.replies: list[type[Any]] = [
            kind for kind in (returned, *get_args(returned)) if isinstance(kind, type) and is_dataclass(kind)
        ]
        status: int = options.get("status_code") or 200
        run = endpoint if inspect.iscoroutinefunction(endpoint) else _in_thread(endpoint)
        super().__init__(path, _answering(run, status), **{**options, "response_model": None})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            strict.model = _model_of(self)
            _POOL.set(request.app.state.server.pools.short)
            return await handler(strict)

        return strictly


def _answering(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    @functools.wraps(endpoint)
    async def run(*given: Any, **options: Any) -> Response:
        found = await endpoint(*given, **options)
        return found if isinstance(found, Response) else SafeJson(found, status)

    return run


def _in_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(endpoint)
    async def run(*given: Any, **options: Any) -> Any:
        return await _POOL.get().run(endpoint, *given, **options)

    return run


def _model_of(route: APIRoute) -> type[BaseModel] | None:
    expected = route.body_field.field_info.annotation if route.body_field else None
    return expected if isinstance(expected, type) and issubclass(expected, BaseModel) else None
