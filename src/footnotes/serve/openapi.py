"""What /openapi.json says beside the routes themselves: who may call, and what each group of routes is for."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from footnotes.serve.gate import OPEN_PATHS

_TAGS = {
    "documents": "Hand documents over, look at them, delete them.",
    "collections": "Named groups of documents, with a chunker and a system prompt of their own.",
    "find": "Search passages; ask, and get answers with footnotes.",
    "jobs": "What is being taken in behind the requests.",
    "openai": "The dialect of OpenAI clients.",
    "compatibility": "Routes that clients of other systems know.",
    "service": "Health, status, usage and metrics.",
    "keys": "Who may call.",
}
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key, as `footnotes keys create` shows it once."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in another header."},
}


def describe(api: FastAPI) -> None:
    """Have the application describe itself completely."""

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            api.openapi_schema = _described(api)
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _described(api: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": text} for name, text in _TAGS.items()]
    found = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes, tags=tags)
    found.setdefault("components", {})["securitySchemes"] = _SCHEMES
    for path, methods in found["paths"].items():
        if path not in OPEN_PATHS:
            for operation in methods.values():
                operation["security"] = [{name: []} for name in _SCHEMES]
    return found
