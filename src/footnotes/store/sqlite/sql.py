"""The .sql files beside this one."""

from __future__ import annotations

from functools import cache

from footnotes.store import statements
from footnotes.store.sqlite.cursor import SQL


@cache
def queries() -> dict[str, str]:
    """Queries by name."""
    return {**statements.queries(__package__), **statements.queries(SQL)}


def migrations() -> list[tuple[int, str]]:
    """Numbered migrations, oldest first."""
    return statements.migrations(__package__)
