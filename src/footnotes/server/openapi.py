"""Builds /openapi.json: schemas and examples from the types, errors, keys and tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from starlette.routing import BaseRoute

from footnotes.errors import all_errors
from footnotes.server.examples import example
from footnotes.server.gate import OPEN_PATHS
from footnotes.server.models import ErrorBody, FlatError
from footnotes.server.strict import StrictRoute
from footnotes.wire import json_types

Responses = dict[int | str, dict[str, Any]]
_REF = "#/components/schemas/"

_TAGS = {
    "documents": "Upload, read and delete documents.",
    "collections": "Named groups of documents, each with a chunker and a system prompt.",
    "find": "Search passages; ask, and get answers with footnotes.",
    "conversations": "Stored questions and answers.",
    "models": "Models that answer, connected while the server runs.",
    "jobs": "Documents being ingested in the background.",
    "openai": "The dialect of OpenAI clients.",
    "compatibility": "Routes that clients of other systems know.",
    "service": "Health, status, usage and metrics.",
    "keys": "Who may call.",
}
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key, as `footnotes keys create` shows it once."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in another header."},
}
_ERRORS = {
    400: ("request_invalid", "The body cannot be read"),
    401: ("unauthorized", "No valid key"),
    403: ("forbidden", "The key may not do this, or the page may not call"),
    404: ("not_found", "Not found"),
    408: ("client_too_slow", "The body took too long"),
    409: ("reindex_refused", "Refused as things are"),
    413: ("body_too_large", "Too large, or more than the tenant may keep"),
    422: ("request_invalid", "The request is not understood"),
    429: ("rate_limited", "Too many requests, or the month's answers are used up"),
    431: ("headers_too_large", "The headers or the address are too long"),
    500: ("internal_error", "The server failed"),
    501: ("missing_extra", "An extra is not installed"),
    502: ("provider_unavailable", "A model behind a network failed"),
    503: ("server_busy", "Not now; see Retry-After"),
    504: ("provider_timeout", "A model behind a network took too long"),
    507: ("storage_full", "No space left"),
}
"""By status: an example error code and a description."""
OPEN_ERRORS = (403, 431, 500)
_ALWAYS = (401, 403, 422, 429, 431, 500, 503)
_BODY = (400, 408, 413)
MODEL_ERRORS = (501, 502, 504)
"""Errors of routes that call a model over a network."""


def describe(api: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Install our description as the application's; `routes` are ours."""
    strict = [route for route in routes if isinstance(route, StrictRoute)]

    def openapi() -> dict[str, object]:
        if api.openapi_schema is None:
            api.openapi_schema = _build_openapi(api, strict)
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _build_openapi(api: FastAPI, routes: Sequence[StrictRoute]) -> dict[str, object]:
    tags = [{"name": name, "description": text} for name, text in _TAGS.items()]
    found = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes, tags=tags)
    schemas = found["components"]["schemas"]
    schemas.update(_schemas(kind for route in routes for kind in route.replies))
    for route in routes:
        for method in route.methods or ():
            _complete(found["paths"][route.path_format][method.lower()], route, schemas)
    found["components"]["securitySchemes"] = _SCHEMES
    for path, methods in found["paths"].items():
        if path not in OPEN_PATHS:
            for operation in methods.values():
                operation["security"] = [{name: []} for name in _SCHEMES]
    return found


def _complete(operation: dict[str, Any], route: StrictRoute, schemas: dict[str, Any]) -> None:
    """Add the schema and example of a route's replies, and an example of its body."""
    refs = [{"$ref": f"{_REF}{kind.__name__}"} for kind in route.replies]
    if refs:
        schema = {"anyOf": refs} if len(refs) > 1 else refs[0]
        for status, response in operation["responses"].items():
            if status == str(route.status_code or 200) or "content" not in response:
                shown = {"schema": schema, "example": example(schema, schemas)}
                response.setdefault("content", {})["application/json"] = shown
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media.setdefault("example", example(media["schema"], schemas))


class _Schemas(GenerateJsonSchema):
    """Schemas of dataclasses as `to_json` writes them: every field and property, and nothing else."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        found = super().dataclass_schema(schema)
        shown = json_types(schema["cls"])
        found["properties"] = {name: self.generate_inner(TypeAdapter(kind).core_schema) for name, kind in shown.items()}
        return {**found, "required": list(shown), "additionalProperties": False}


def _schemas(kinds: Iterable[type]) -> dict[str, object]:
    adapters: list[tuple[type, Literal["serialization"], TypeAdapter[object]]]
    adapters = [(kind, "serialization", TypeAdapter(kind)) for kind in dict.fromkeys(kinds)]
    _, found = TypeAdapter.json_schemas(adapters, ref_template=f"{_REF}{{model}}", schema_generator=_Schemas)
    return dict(found["$defs"])


# ── further responses of a route


def errors(*more: int, body: bool = False, flat: bool = False) -> Responses:
    """Describe the errors of a route; `body` if it takes one, `flat` for errors of one level."""
    return only_errors(*_ALWAYS, *more, *(_BODY if body else ()), flat=flat)


def only_errors(*statuses: int, flat: bool = False) -> Responses:
    """Only these errors: for routes that need no key."""
    return {status: _error(status, flat) for status in sorted({*statuses})}


def _error(status: int, flat: bool) -> dict[str, object]:
    code, said = _ERRORS[status]
    remedy = next(kind.default_remedy for kind in all_errors() if kind.code == code)
    beside = {"code": code, "remedy": remedy, "request_id": "5f2b1c9e0a7d4e83"}
    shown = {"error": said, **beside} if flat else {"error": {"message": said, **beside}}
    model = FlatError if flat else ErrorBody
    return {"model": model, "description": said, "content": {"application/json": {"example": shown}}}


def events(example: str) -> Responses:
    """Describe the response of a route that can answer with server-sent events."""
    text = {"type": "string"}
    event = {"type": "object", "properties": {"event": text, "data": text}, "required": ["data"]}
    return {200: {"content": {"text/event-stream": {"schema": event, "example": example}}}}


def file_response(kind: str, *, example: str = "") -> Responses:
    """Describe the response of a route that answers with a file."""
    schema = {"type": "string"} if kind.startswith("text/") else {"type": "string", "format": "binary"}
    return {200: {"content": {kind: {"schema": schema, "example": example or "(bytes)"}}}}
