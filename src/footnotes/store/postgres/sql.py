"""Reads the functions and migrations beside this file."""

from __future__ import annotations

from importlib import resources

from footnotes.store import statements


def functions() -> dict[str, str]:
    """Return the database's functions by name: one file each, replaced in the database whenever it has changed.

    The privileges come last, because they refer to the others.
    """
    folder = resources.files(__package__) / "functions"
    found = sorted(folder.iterdir(), key=lambda item: (item.name == "privileges.sql", item.name))
    return {item.name.partition(".")[0]: item.read_text("utf-8") for item in found}


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations, oldest first."""
    return statements.migrations(__package__)
