"""Cuts windows of a fixed number of characters."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import ClassVar

from footnotes.chunk.options import Bounds, check_options, check_overlap
from footnotes.types import Metadata, Part, Piece

_LONGEST_WORD = 100


class WindowChunker:
    """Windows of at most `size` characters; each overlaps the one before by up to `overlap` characters.

    A run of white space counts as one character, but spans stay exact. Windows begin and end between words, except
    inside a word of more than a hundred characters.
    """

    name: ClassVar[str] = "window"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {"size": (100, 100_000), "overlap": (0, 50_000)}

    def __init__(self, *, size: int = 1000, overlap: int = 200) -> None:
        self._options = check_options(self.name, self.bounds, {"size": size, "overlap": overlap})
        check_overlap(self.name, size, overlap)
        self._size, self._overlap = size, overlap

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        words = [match.span() for match in _WORD.finditer(part.text)]
        starts, ends = _normalise(words)
        pieces: list[Piece] = []
        first = 0
        while first < len(words):
            last = bisect_right(ends, starts[first] + self._size) - 1
            pieces.append(Piece(part.start + words[first][0], part.start + words[last][1]))
            if last + 1 == len(words):
                break
            first = max(first + 1, min(bisect_left(starts, ends[last] - self._overlap), last + 1))
        return pieces


_WORD = re.compile(rf"\S{{1,{_LONGEST_WORD}}}+")


def _normalise(words: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the offsets where words would begin and end if every run of white space were one space."""
    starts: list[int] = []
    ends: list[int] = []
    position = edge = 0
    for start, end in words:
        position += 1 if start > edge else 0
        starts.append(position)
        position += end - start
        ends.append(position)
        edge = end
    return starts, ends
