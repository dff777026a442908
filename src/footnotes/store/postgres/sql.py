"""The functions and migrations beside this file."""

from __future__ import annotations

from importlib import resources

from footnotes.store import statements


def functions() -> dict[str, str]:
    """Functions of the database by name, as they are now: a file each, put in place whenever it has changed.

    The privileges come last: they are about the others too.
    """
    folder = resources.files(__package__) / "functions"
    found = sorted(folder.iterdir(), key=lambda item: (item.name == "privileges.sql", item.name))
    return {item.name.partition(".")[0]: item.read_text("utf-8") for item in found}


def migrations() -> list[tuple[int, str]]:
    """Numbered migrations, oldest first."""
    return statements.migrations(__package__)
