"""Splits by characters at the best separator available: paragraphs, lines, sentences, words, anywhere."""

from __future__ import annotations

from collections.abc import Iterator

Span = tuple[int, int]

_SEPARATORS = ("\n\n", "\n", ". ", "。", "; ", ", ", " ")


def balanced(text: str, start: int, end: int, *, maximum: int) -> list[Span]:
    """Halve a span until each piece has at most `maximum` characters.

    Cutting near the middle keeps all pieces above a third of the maximum, so none needs merging.
    """
    start, end = trimmed(text, start, end)
    if end - start <= maximum:
        return [(start, end)] if start < end else []
    pieces = -(-(end - start) // maximum)
    aim = start + (end - start) * (pieces // 2) // pieces
    margin = maximum // 6
    boundary = _cut(text, max(start + 1, aim - margin), min(end - 1, aim + margin), aim)
    return [*balanced(text, start, boundary, maximum=maximum), *balanced(text, boundary, end, maximum=maximum)]


def overlapping(text: str, start: int, end: int, *, size: int, overlap: int) -> Iterator[Span]:
    """Yield spans of at most `size` characters that share up to `overlap` with the one before."""
    start, end = trimmed(text, start, end)
    while start < end:
        if end - start <= size:
            yield start, end
            return
        boundary = _cut(text, start + size // 2, start + size, start + size)
        yield trimmed(text, start, boundary)
        following = _cut(text, boundary - overlap, boundary, boundary - overlap) if overlap else boundary
        start, _ = trimmed(text, max(start + 1, following), end)


def trimmed(text: str, start: int, end: int) -> Span:
    """Return a span without the white space around it."""
    piece = text[start:end]
    bare = piece.lstrip()
    first = end - len(bare)
    return first, first + len(bare.rstrip())


def _cut(text: str, low: int, high: int, aim: int) -> int:
    """Return the place between two offsets after the best separator, nearest to the aim."""
    for separator in _SEPARATORS:
        before = text.rfind(separator, low, min(aim, high))
        after = text.find(separator, max(aim - len(separator), low), high)
        found = [at + len(separator) for at in (before, after) if at >= 0 and at + len(separator) <= high]
        if found:
            return min(found, key=lambda at: abs(at - aim))
    return min(max(aim, low), high)
