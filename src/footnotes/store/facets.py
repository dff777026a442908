"""What filters can test of a document: its own fields and its metadata, as text and, where it is one, a number.

The same rows are tested in SQL and by the lexical index, so that both mean the same by the same filter.
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
"""Fields that test what a chunk's metadata lists, mostly under another name, beside the document's own metadata."""
COLUMNS: Mapping[str, str] = {"checksum": "d.file_hash"}
"""Fields that are columns of a document, and no facets."""
CHUNK_FIELDS = ("page", "line", "heading", *LISTED)
DEFINES = "\x1fdefines"
"""Chunks are found by the names they define under this key, which no filter can name."""
DATES = ("added", "updated", "created", "modified")
"""Compared as text, which ISO 8601 is made for: `created>=2024` is a date, not a number."""
MAX_TEXT = 400
MAX_KEY = 200
"""No filter can name a longer key, and an index of a database has no room for any length."""
_SEPARATOR = "\x1f"


class Facet(NamedTuple):
    """One value of a field, as text, and the number it is."""

    key: str
    text: str
    number: float | None = None


def facet_term(key: str, text: str) -> str:
    """A facet as one term of the lexical index."""
    return f"{key}{_SEPARATOR}{text}"


def facet_text(value: JsonValue) -> str:
    """How a value is compared: `true`, `3`, `2.5`, or the text itself."""
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:MAX_TEXT]


def facets_of(document: Document) -> list[Facet]:
    """Every facet of a document, each once."""
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
    said = (facet for facet in _flatten("", document.metadata) if len(facet.key) <= MAX_KEY)
    return list(dict.fromkeys([*own, *said]))


def as_number(value: JsonValue) -> float | None:
    """The number a value is, if it is one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str) and (value[:1].isalpha() or value[:1] == "/" or value[10:11] == "T"):
        return None  # words, paths and moments, cheaply told: most are no numbers
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
            # A document cannot say that it belongs to another collection.
            key = f"metadata.{key}"
        if isinstance(value, dict):
            yield from _flatten(f"{key}.", value)
        elif isinstance(value, list):
            yield from (_facet(key, item) for item in value if isinstance(item, (str, int, float)))
        elif value is not None:
            yield _facet(key, value)
