"""Reads .sql files: migrations in order, and queries by name.

A query begins with a line `-- name: find(user_id, id)`. The names in parentheses are the parameters `$1`, `$2`, …
(PostgreSQL) or `?1`, `?2`, … (SQLite), in this order. A line `-- fragment: columns` begins a piece of SQL that queries
of the same folder insert by its name in braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

_HEADER = re.compile(r"^-- (name|fragment): (\w+)(?:\(([\w, ]*)\))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query:
    """A statement and the names of its parameters."""

    sql: str
    parameters: tuple[str, ...] = ()


@cache
def load_queries(package: str, *files: str) -> dict[str, Query]:
    """Load the queries of a package's .sql files, or of the named files, by name."""
    found: dict[str, Query] = {}
    fragments: dict[str, str] = {}
    for item in resources.files(package).iterdir():
        if _is_sql(item) and (not files or item.name.removesuffix(".sql") in files):
            _parse(item.read_text("utf-8"), found, fragments)
    fragments = {name: _fill(fragment, fragments) for name, fragment in fragments.items()}
    return {name: Query(_fill(query.sql, fragments), query.parameters) for name, query in found.items()}


def migrations(package: str) -> list[tuple[int, str]]:
    """Return the numbered migrations, oldest first."""
    folder = resources.files(package) / "migrations"
    found = [(int(item.name.split("_")[0]), item.read_text("utf-8")) for item in folder.iterdir() if _is_sql(item)]
    return sorted(found)


def _parse(text: str, found: dict[str, Query], fragments: dict[str, str]) -> None:
    pieces = _HEADER.split(text)[1:]
    for kind, name, parameters, body in zip(*(pieces[at::4] for at in range(4)), strict=True):
        if name in found or name in fragments:
            raise ValueError(f"two queries are named {name}")
        if kind == "fragment":
            fragments[name] = body.strip()
        else:
            names = (parameters or "").replace(" ", "").split(",")
            found[name] = Query(body.strip(), tuple(filter(None, names)))


def _fill(sql: str, fragments: dict[str, str]) -> str:
    for name, fragment in fragments.items():
        sql = sql.replace("{" + name + "}", fragment)
    return sql


def _is_sql(item: Traversable) -> bool:
    return item.name.endswith(".sql")
