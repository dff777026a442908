"""What is written after an option, as the values it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click


def pairs(written: Sequence[str]) -> dict[str, Any]:
    """`key=value` options; numbers and true or false are read as such."""
    found: dict[str, Any] = {}
    for item in written:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{item!r} is not of the form KEY=VALUE")
        found[key] = _scalar(value)
    return found


def _scalar(value: str) -> str | int | float | bool:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
