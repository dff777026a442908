"""The .sql files beside this one."""

from __future__ import annotations

from functools import cache
from importlib import resources

from footnotes.store import statements
from footnotes.store.postgres.cursor import SQL

_COLUMNS = ("document_columns", "generation_columns")


@cache
def queries() -> dict[str, str]:
    """Queries by name. Lists of columns that several of them share are put in where they are named in braces."""
    found = {**statements.queries(__package__), **statements.queries(SQL)}
    for name in _COLUMNS:
        found = {key: query.replace("{" + name + "}", found[name]) for key, query in found.items()}
    return found


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
