"""How the place of a span of source code is written: `src/auth/token.py:12-14 @ 1a2b3c4`."""

from __future__ import annotations

from collections.abc import Mapping

from footnotes.types import JsonValue

_SHORT = 7
_DIRTY = "-dirty"


def source_place(path: str, lines: tuple[int, int] | None, commit: str = "") -> str:
    """`path:line-line` at the short commit, as far as they are known."""
    place = path
    if lines is not None:
        first, last = lines
        place += f":{first}" if first == last else f":{first}-{last}"
    return f"{place} @ {short_commit(commit)}" if commit else place


def short_commit(commit: str) -> str:
    """Seven characters of a commit, and whether the file differed from it."""
    plain = commit.removesuffix(_DIRTY)
    return plain[:_SHORT] + (_DIRTY if plain != commit else "")


def source_of(metadata: Mapping[str, JsonValue]) -> tuple[str, str]:
    """The path and commit of a source file of a repository; empty for any other document."""
    path, commit = metadata.get("path"), metadata.get("commit")
    if not isinstance(path, str) or not metadata.get("repository"):
        return "", ""
    return path, commit if isinstance(commit, str) else ""
