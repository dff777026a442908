"""The .sql files beside this one."""

from __future__ import annotations

from footnotes.store import statements


def queries() -> dict[str, str]:
    """Queries by name."""
    return statements.queries(__package__)


def migrations() -> list[tuple[int, str]]:
    """Numbered migrations, oldest first."""
    return statements.migrations(__package__)
