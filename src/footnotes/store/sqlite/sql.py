"""The migrations beside this file."""

from __future__ import annotations

from footnotes.store import statements


def migrations() -> list[tuple[int, str]]:
    """Numbered migrations, oldest first."""
    return statements.migrations(__package__)
