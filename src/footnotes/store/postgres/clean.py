"""Replaces characters that PostgreSQL's text cannot store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NUL, _INSTEAD = "\x00", "\ufffd"


def clean(text: str) -> str:
    """Replace NUL in a text without changing its length, so that spans keep their meaning."""
    return text.replace(_NUL, _INSTEAD) if _NUL in text else text


def clean_json(value: object) -> Any:
    """Clean all texts inside a JSON value, including names."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(inner) for inner in value]
    return value
