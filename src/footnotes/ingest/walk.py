"""Finds the files to ingest at a path, and the skipped ones with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes.errors import SourceUnreadable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"
LIBRARY_FILE = "footnotes.db"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped path, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The rules of one .gitignore, for paths below its folder."""

    folder: Path
    rules: GitIgnoreSpec

    def covers(self, path: Path, *, is_folder: bool) -> bool:
        relative = path.relative_to(self.folder).as_posix() + ("/" if is_folder else "")
        return self.rules.match_file(relative)


def walk(path: Path, *, avoid: Path | None = None) -> Iterator[Path | Skipped]:
    """Yield the files under a path in a stable order. A file given itself is always included; `avoid` never is."""
    try:
        if path.is_file():
            yield path
            return
        if not path.is_dir():
            raise SourceUnreadable(
                f"there is no file or folder {path}" if not path.exists() else f"{path} is not a file"
            )
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read ({error.strerror})") from error
    root = path.resolve()
    yield from _folder(path, root, [], avoid.resolve() if avoid else None)


def resolve_path(path: Path, folders: dict[str, str]) -> str:
    """Resolve the real path of a file. `folders` are those visited: each is visited once."""
    folder, _, name = str(path).rpartition(os.sep)
    if path.is_symlink():
        return str(path.resolve())
    if folder not in folders:
        folders[folder] = str(path.parent.resolve()).rstrip(os.sep)
    return f"{folders[folder]}{os.sep}{name}"


def _folder(folder: Path, root: Path, ignored: list[_Ignored], avoid: Path | None) -> Iterator[Path | Skipped]:
    rules = _load_rules(folder)
    ignored = [*ignored, rules] if rules else ignored
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(folder, f"cannot be read ({error.strerror})")
        return
    for entry in entries:
        path = folder / entry.name
        try:
            is_folder = entry.is_dir()
            if entry.is_symlink():
                path.resolve(strict=entry.is_file())
        except (OSError, RuntimeError) as error:  # circular links, unreadable folders
            yield Skipped(path, f"cannot be read ({getattr(error, 'strerror', None) or 'a link that leads nowhere'})")
            continue
        if reason := _reason_to_skip(path, entry, root, ignored, is_folder=is_folder):
            yield Skipped(path, reason)
        elif is_folder and (path.resolve() == avoid or _holds_a_library(path)):
            yield Skipped(path, "is a library itself")
        elif is_folder:
            yield from _folder(path, root, ignored, avoid)
        elif entry.is_file():
            yield path


def _reason_to_skip(
    path: Path, entry: os.DirEntry[str], root: Path, ignored: list[_Ignored], *, is_folder: bool
) -> str | None:
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(root):
            return "a link out of the folder"
        if is_folder:
            return "a link to a folder that is taken anyway"
        if not target.exists():
            return "a link to nothing"
    if any(rules.covers(path, is_folder=is_folder) for rules in ignored):
        return "ignored by .gitignore"
    if not is_folder and not entry.is_file():
        return "not a regular file"
    return None


def _holds_a_library(folder: Path) -> bool:
    try:
        return (folder / LIBRARY_FILE).is_file()
    except OSError:
        return False


def _load_rules(folder: Path) -> _Ignored | None:
    from pathspec import GitIgnoreSpec

    file = folder / IGNORE_FILE
    try:
        if not file.is_file():
            return None
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        return _Ignored(folder, GitIgnoreSpec.from_lines(lines))
    except (OSError, ValueError):
        return None
