"""Lists the source files of a repository, and the skipped files, with reasons."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from footnotes.ingest.code.git import Entry, Git
from footnotes.ingest.code.leave_out import language_by_shebang, language_of, reason_by_name
from footnotes.ingest.names import as_text
from footnotes.ingest.walk import Skipped, walk

_LINK, _SUBMODULE = "120000", "160000"


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
