"""Strict JSON bodies: no NaN, no duplicate keys, and limits on numbers and nesting.

A body is bounded before it is parsed: validation and error reports cost far more than its bytes. Large bodies are
parsed in a thread, so work that grows with a request never runs on the event loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar, get_args, get_type_hints

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from footnotes.errors import FilterError, RequestInvalid
from footnotes.server.responses import SafeJson
from footnotes.server.threads import Threads

T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M", bound=BaseModel)
SMALL_BYTES = 8 * 1024
"""Bodies up to this size are read on the event loop: a thread would cost more."""
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_POOL: ContextVar[Threads] = ContextVar("pool")


def check_nodes(body: bytes, most: int) -> None:
    """Raise if a JSON text has more than `most` values and keys, before it is parsed."""
    if _nodes(body) > most and _nodes(_STRINGS.sub(b"", body)) > most:
        remedy = "Send less at once, or raise serve_json_nodes in the settings."
        raise RequestInvalid(f"the body has more than {most:,} values and keys", remedy=remedy)


def _nodes(body: bytes) -> int:
    """Return an upper bound of a JSON text's values and keys: each but the first follows a comma, colon or bracket."""
    return 1 + sum(map(body.count, (b",", b":", b"[", b"{")))


def parse_json(body: bytes, most_nodes: int, what: str = "the body") -> object:
    """Parse a JSON text strictly. Errors do not quote it."""
    check_nodes(body, most_nodes)
    try:
        return json.loads(body, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)
    except RecursionError:
        raise RequestInvalid(f"{what} is nested too deeply") from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestInvalid(f"{what} is not valid JSON{where}") from None


def validate(model: type[M], value: object, place: str = "body") -> M:
    """Validate a value as a model; raise its first mistake, without quoting the value."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in (place, *found["loc"]) if part != "")
        raise RequestInvalid(f"{where or 'the body'}: {found['msg']}"[:300]) from None


def parse_filter(text: str | None) -> Any:
    """Parse the filter of a query string: a JSON object, or the command line's `key=value`."""
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FilterError("the filter is not valid JSON") from error


async def run_off_loop(size: int, call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function whose time grows with a request, in a thread unless the request is small."""
    return call(*arguments, **options) if size <= SMALL_BYTES else await asyncio.to_thread(call, *arguments, **options)


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in an object")
    return found


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


class _StrictRequest(Request):
    """A request whose JSON body is parsed and validated here; the framework gets the model."""

    model: type[BaseModel] | None = None

    async def json(self) -> object:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await run_off_loop(len(body), self._read, body)
        return self._json

    def _read(self, body: bytes) -> object:
        value = parse_json(body, self.app.state.server.settings.serve_json_nodes)
        return value if self.model is None else validate(self.model, value)


class StrictRoute(APIRoute):
    """A route with strict JSON bodies, whose function runs in one of the tenant's threads.

    A dataclass that the function returns is sent as JSON; `replies` are the types of it.
    """

    def __init__(self, path: str, endpoint: Callable[..., object], **options: Any) -> None:
        returned = get_type_hints(endpoint)["return"]
        self.replies: list[type[object]] = [
            kind for kind in (returned, *get_args(returned)) if isinstance(kind, type) and is_dataclass(kind)
        ]
        status: int = options.get("status_code") or 200
        run = endpoint if inspect.iscoroutinefunction(endpoint) else _run_in_thread(endpoint)
        super().__init__(path, _respond(run, status), **{**options, "response_model": None})

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        handler = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            strict.model = _body_model(self)
            _POOL.set(request.app.state.server.pools.short)
            return await handler(strict)

        return strictly


def _respond(endpoint: Callable[P, Awaitable[object]], status: int) -> Callable[P, Awaitable[Response]]:
    @functools.wraps(endpoint)
    async def run(*arguments: P.args, **options: P.kwargs) -> Response:
        found = await endpoint(*arguments, **options)
        return found if isinstance(found, Response) else SafeJson(found, status)

    return run


def _run_in_thread(endpoint: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    @functools.wraps(endpoint)
    async def run(*arguments: P.args, **options: P.kwargs) -> T:
        return await _POOL.get().run(endpoint, *arguments, **options)

    return run


def _body_model(route: APIRoute) -> type[BaseModel] | None:
    expected = route.body_field.field_info.annotation if route.body_field else None
    return expected if isinstance(expected, type) and issubclass(expected, BaseModel) else None
