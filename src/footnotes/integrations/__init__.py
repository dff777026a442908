"""Footnotes in other frameworks. Each module needs the extra of its name.

A library here is an open `Library` or `Client`, a folder, or the address of a server.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import footnotes
from footnotes.client import Client
from footnotes.errors import MissingExtra
from footnotes.fetch.url import is_url
from footnotes.library import Library
from footnotes.types import Answer, Citation, Hit
from footnotes.wire import to_json

Source: TypeAlias = "Library | Client | str | Path"


def open_library(source: Source, *, key: str = "") -> Library | Client:
    """Open the library of a source."""
    if isinstance(source, Library | Client):
        return source
    return Client(str(source), key=key) if is_url(str(source)) else footnotes.open(source)


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """The metadata of a hit's document, and the place of the passage."""
    placed = {
        "document_id": hit.document_id,
        "chunk_id": hit.chunk_id,
        "filename": hit.filename,
        "title": hit.title,
        "collection": hit.collection,
        "start": hit.start,
        "end": hit.end,
        "page": hit.pages[0] if hit.pages else None,
        "headings": list(hit.headings),
        "score": hit.score,
    }
    return {**to_json(hit.metadata), **placed}


def citation_metadata(citation: Citation) -> dict[str, Any]:
    """A footnote as plain data: the quote and its exact offsets."""
    found: dict[str, Any] = to_json(citation)
    return found


def answer_metadata(answer: Answer) -> dict[str, object]:
    """The metadata of an answer: footnotes, unsupported sentences, and how it was made."""
    names = ("kind", "abstained", "degraded", "incomplete", "model", "usage", "unsupported", "uncertain")
    values = {name: to_json(getattr(answer, name)) for name in names}
    return {**values, "citations": [citation_metadata(citation) for citation in answer.citations]}


def require(package: str, extra: str) -> None:
    """Raise if a framework is not installed."""
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"footnotes.integrations.{extra} needs the package {package!r}, which is not installed",
            remedy=f'pip install "footnotes[{extra.replace("_", "-")}]"',
        ) from error
