"""Cuts a stream of characters into parts of bounded size, at the best boundary."""

from __future__ import annotations

from collections.abc import Iterator

from footnotes.parse import PART_CHARACTERS

LOOKAHEAD = 50_000
"""How far to search for a good boundary beyond `PART_CHARACTERS`."""


def runs(pieces: Iterator[str], *, size: int = PART_CHARACTERS, lookahead: int = LOOKAHEAD) -> Iterator[str]:
    """Rejoin pieces into runs that end after a paragraph, else a line, else a word, else anywhere."""
    pending: list[str] = []
    length = 0
    for piece in pieces:
        pending.append(piece)
        length += len(piece)
        if length < size + lookahead:
            continue
        text = "".join(pending)
        start = 0
        while len(text) - start >= size + lookahead:
            end = _boundary(text, start + size, start + size + lookahead)
            yield text[start:end]
            start = end
        pending, length = [text[start:]], len(text) - start
    if length:
        yield "".join(pending)


def _boundary(text: str, low: int, high: int) -> int:
    """Find the first good position to cut between two offsets."""
    for mark in ("\n\n", "\n", " "):
        found = text.find(mark, low, high)
        if found >= 0:
            return found + len(mark)
    return low
