"""Lists the source files of a repository, and the skipped files, with reasons."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnotes.ingest.code.git import Entry, Git
from footnotes.ingest.code.leave_out import language_by_shebang, language_of, reason_by_name
from footnotes.ingest.names import as_text
from footnotes.ingest.walk import Skipped, walk

_LINK, _SUBMODULE = "120000", "160000"
_MOST = 200
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest: its path, its name in git (the path from the top), and its language."""

    path: Path
    name: str
    language: str

    @property
    def relative(self) -> str:
        """The path in the repository, as text."""
        return as_text(self.name)


def source_files(
    folder: Path, git: Git | None, *, untracked: bool, avoid: Path | None = None
) -> Iterator[SourceFile | Skipped]:
    """List the tracked files below a folder, or all files without git. Contents are not read."""
    if git is None:
        for item in walk(folder, avoid=avoid):
            if isinstance(item, Skipped):
                yield item
            else:
                yield _classify(item, item.relative_to(folder).as_posix())
        return
    top = git.top.resolve()
    entries = [*git.tracked(), *(git.untracked() if untracked else [])]
    marks = git.find_marked([entry.path for entry in entries])
    for entry in entries:
        path = git.top / entry.path
        if entry.path in marks:
            yield Skipped(path, f"{marks[entry.path]}, according to .gitattributes")
        elif (reason := _reason_by_entry(path, entry, top, avoid)) is not None:
            yield Skipped(path, reason)
        elif os.path.lexists(path):
            yield _classify(path, entry.path)


def _reason_by_entry(path: Path, entry: Entry, top: Path, avoid: Path | None) -> str | None:
    if entry.mode == _SUBMODULE:
        return "a submodule"
    try:
        # A file may have become a link, or be behind one, since it was committed.
        if entry.mode == _LINK or path.is_symlink():
            return "a link"
        if not (real := path.resolve()).is_relative_to(top):
            return "a link out of the repository"
        if avoid is not None and real.is_relative_to(avoid):
            return "part of the library itself"
        if path.exists() and not path.is_file():
            return "not a regular file"
    except (OSError, RuntimeError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or 'a link that leads nowhere'})"
    return None


def _classify(path: Path, name: str) -> SourceFile | Skipped:
    relative = as_text(name)
    if (reason := reason_by_name(relative)) is not None:
        return Skipped(path, reason)
    language = language_of(relative)
    if language is None and "." not in path.name:
        language = language_by_shebang(path)
    return SourceFile(path, name, language) if language else Skipped(path, "not source code")


# ── reads the entry points of a project's manifest: commands it installs, scripts it runs ─────────────────────


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
