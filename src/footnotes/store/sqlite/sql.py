"""Reads the migrations beside this file."""

from __future__ import annotations

from footnotes.store import statements


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations, oldest first."""
    return statements.migrations(__package__)
