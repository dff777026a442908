"""JSON bodies as strict as their standard: no NaN, no key twice, no number without end, no nesting without end."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

from footnotes.errors import RequestInvalid


def parsed(body: bytes) -> Any:
    """The value of a JSON text; what is wrong with it is an error without a word of it."""
    try:
        return json.loads(body, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise RequestInvalid("the body is nested too deeply") from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestInvalid(f"the body is not valid JSON{where}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = parsed(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route whose JSON bodies are read strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strictly
