"""Tracks the headings above a position in a document."""

from __future__ import annotations

from footnotes.types import Part

LONGEST_TITLE = 200
DEEPEST = 12


class Outline:
    """Tracks the path of open headings while a document is read."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._path: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Return the titles above the current position, outermost first."""
        return self._path

    def leave(self) -> None:
        """Close all headings: the following text is below none of them."""
        self._open, self._path = [], ()

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Open a heading, and close those of its level and below; the new path ends with its title."""
        level = min(max(level, 1), DEEPEST)
        self._open = [entry for entry in self._open if entry[0] < level]
        self._open.append((level, clean_title(title)))
        self._path = tuple(entry[1] for entry in self._open)
        return self._path


def clean_title(title: str) -> str:
    """Put a title on one line, and cut it at a bearable length."""
    return " ".join(title[: LONGEST_TITLE * 4].split())[:LONGEST_TITLE]


def document_title(filename: str, first: Part) -> str:
    """Return the title: as stated, else the first heading, else the file name."""
    if first.title:
        return first.title
    if first.blocks and first.blocks[0].kind == "heading" and first.blocks[0].headings:
        return first.blocks[0].headings[0]
    return filename.rpartition(".")[0] or filename
