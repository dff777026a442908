"""What an Office file says of itself."""

from __future__ import annotations

import datetime
from typing import Any

from footnotes.parse.decode import clean
from footnotes.types import JsonValue

_FIELDS = ("title", "author", "subject", "keywords", "created", "modified", "language")


def core_properties(properties: Any) -> dict[str, JsonValue]:
    """The core properties of python-docx and python-pptx as metadata."""
    found: dict[str, JsonValue] = {}
    for name in _FIELDS:
        try:
            value = getattr(properties, name)
        except (ValueError, KeyError, AttributeError):  # a date that is none
            continue
        if isinstance(value, datetime.datetime):
            found[name] = value.replace(tzinfo=None).isoformat(timespec="seconds")
        elif isinstance(value, str) and (text := clean(value).strip()):
            found[name] = text[:1000]
    return found
