"""Reads .sql files that lie in a package: migrations in order, and queries by name."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(package: str) -> dict[str, str]:
    """Every query of the .sql files in the package, under the name in the comment above it."""
    found: dict[str, str] = {}
    for item in resources.files(package).iterdir():
        if _is_sql(item.name):
            pieces = _NAME.split(item.read_text("utf-8"))
            found.update(zip(pieces[1::2], (piece.strip() for piece in pieces[2::2]), strict=True))
    return found


def migrations(package: str) -> list[tuple[int, str]]:
    """Numbered migrations, oldest first."""
    folder = resources.files(package) / "migrations"
    found = [(int(item.name.split("_")[0]), item.read_text("utf-8")) for item in folder.iterdir() if _is_sql(item.name)]
    return sorted(found)


def _is_sql(name: str) -> bool:
    return name.endswith(".sql")
