"""The values that filters test: a document's fields and metadata, as text and, if possible, as a number.

SQL and the lexical index test the same rows, so a filter has the same meaning in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from footnotes.types import Document, JsonValue, Metadata

BUILT_IN = ("collection", "filename", "source", "mime", "document_id", "title", "added", "updated")
LISTED: Mapping[str, str] = {
    "symbol": "symbols",
    "entry_point": "entry_points",
    "section": "section_header",
    "imports": "imports",
    "slug": "slug",
}
"""Fields that test lists in a chunk's metadata, mostly under another name, besides the document's own metadata."""
COLUMNS: Mapping[str, str] = {"checksum": "d.file_hash"}
"""Fields stored as columns of a document, not as facets."""
CHUNK_FIELDS = ("page", "line", "heading", *LISTED)
DEFINES = "\x1fdefines"
"""A key for the names that a chunk defines; filters cannot use it."""
DATES = ("added", "updated", "created", "modified")
"""Fields compared as text, as ISO 8601 allows: in `created>=2024` the value is a date, not a number."""
MAX_TEXT = 400
MAX_KEY = 200
"""The longest key in filters; index entries of a database are limited too."""
_SEPARATOR = "\x1f"


class Facet(NamedTuple):
    """One value of a field as text, and as a number if it is one."""

    key: str
    text: str
    number: float | None = None


def facet_term(key: str, text: str) -> str:
    """Return a facet as one term of the lexical index."""
    return f"{key}{_SEPARATOR}{text}"


def facet_text(value: JsonValue) -> str:
    """Return the text to compare a value by: `true`, `3`, `2.5`, or the text itself."""
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:MAX_TEXT]


def facets_of(document: Document) -> list[Facet]:
    """Return every facet of a document, each once."""
    fields: dict[str, JsonValue] = {
        "collection": document.collection,
        "filename": document.filename,
        "source": document.source,
        "mime": document.mime,
        "document_id": document.id,
        "title": document.title,
        "added": document.created_at,
        "updated": document.updated_at,
    }
    own = [_facet(key, value) for key, value in fields.items()]
    own_metadata = (facet for facet in _flatten("", document.metadata) if len(facet.key) <= MAX_KEY)
    return list(dict.fromkeys([*own, *own_metadata]))


def as_number(value: JsonValue) -> float | None:
    """Return a value as a number; None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str) and (value[:1].isalpha() or value[:1] == "/" or value[10:11] == "T"):
        return None  # a cheap test for words, paths and times, which most values are
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _facet(key: str, value: JsonValue) -> Facet:
    return Facet(key, facet_text(value), as_number(value))


def _flatten(prefix: str, values: Metadata) -> Iterator[Facet]:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if not prefix and key in BUILT_IN:
            # A document's metadata cannot override its collection.
            key = f"metadata.{key}"
        if isinstance(value, dict):
            yield from _flatten(f"{key}.", value)
        elif isinstance(value, list):
            yield from (_facet(key, item) for item in value if isinstance(item, (str, int, float)))
        elif value is not None:
            yield _facet(key, value)
