"""What PostgreSQL's text cannot hold is replaced before it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NUL, _INSTEAD = "\x00", "\ufffd"


def clean(text: str) -> str:
    """A text without NUL, as long as it was: spans go on to mean the same characters."""
    return text.replace(_NUL, _INSTEAD) if _NUL in text else text


def clean_json(value: object) -> Any:
    """The same for everything inside a JSON value, names too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(inner) for inner in value]
    return value
