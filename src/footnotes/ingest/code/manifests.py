"""Reads the entry points of a project's manifest: commands it installs, scripts it runs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MOST = 200
_MOST_BYTES = 1_000_000


def manifest_entry_points(path: Path) -> list[str]:
    """Return `cli:name` for installed commands and `script:name` for scripts; none for a broken file."""
    readers = {"package.json": (json.loads, _package_entries), "pyproject.toml": (tomllib.loads, _pyproject_entries),
               "cargo.toml": (tomllib.loads, _cargo_entries)}  # fmt: skip
    known = readers.get(path.name.lower())
    if known is None:
        return []
    load, entries = known
    try:
        with path.open("rb") as file:
            read = load(file.read(_MOST_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return list(dict.fromkeys(entries(read)))[:_MOST] if isinstance(read, dict) else []


def _package_entries(read: dict[str, Any]) -> Iterator[str]:
    commands = read.get("bin")
    if isinstance(commands, str) and isinstance(read.get("name"), str):
        yield f"cli:{read['name'].rpartition('/')[2]}"
    yield from (f"cli:{name}" for name in _table(read, "bin"))
    yield from (f"script:{name}" for name in _table(read, "scripts"))


def _pyproject_entries(read: dict[str, object]) -> Iterator[str]:
    poetry = _table(_table(read, "tool"), "poetry")
    for table in (_table(read, "project"), poetry):
        for key in ("scripts", "gui-scripts"):
            yield from (f"cli:{name}" for name in _table(table, key))


def _cargo_entries(read: dict[str, object]) -> Iterator[str]:
    found = read.get("bin")
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield f"cli:{each['name']}"


def _table(read: dict[str, object], key: str) -> dict[str, object]:
    found = read.get(key)
    return found if isinstance(found, dict) else {}
