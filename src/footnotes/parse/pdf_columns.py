"""Puts fragments of lines in reading order: column by column if there are columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from footnotes.parse.pdf_words import Word

_LEAST_LINES = 5
_LEAST_CHARACTERS = 18
_FILLED = 0.55
_DEEPEST = 3
WIDE_GAP = 1.2
"""A gap wider than this many line heights separates two columns or cells."""


@dataclass(slots=True)
class Fragment:
    """Words that follow each other on one line without a wide gap."""

    words: list[Word]
    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def characters(self) -> int:
        return sum(len(word.text) + 1 for word in self.words)


def fragments(words: list[Word]) -> list[Fragment]:
    """Join the words of a page, in the order of its content, into fragments."""
    found: list[Fragment] = []
    for word in words:
        if found and _continues(found[-1], word):
            _extend(found[-1], word)
        else:
            found.append(Fragment([word], word.left, word.bottom, word.right, word.top))
    return found


def _continues(fragment: Fragment, word: Word) -> bool:
    last = fragment.words[-1]
    if last.hyphenated or last.vertical or word.vertical:
        return False
    height = max(min(last.height, word.height), 0.1)
    if abs(last.middle - word.middle) > height * 0.6:
        return False
    gap = fragment.left - word.right if right_to_left(word.text) else word.left - fragment.right
    return -height <= gap <= height * WIDE_GAP


def right_to_left(text: str) -> bool:
    """Return whether a word is written from right to left (Hebrew, Arabic and their like)."""
    return not text.isascii() and any(
        "\u0590" <= character <= "\u08ff" or "\ufb1d" <= character <= "\ufefc" for character in text
    )


def _extend(fragment: Fragment, word: Word) -> None:
    fragment.words.append(word)
    fragment.left, fragment.right = min(fragment.left, word.left), max(fragment.right, word.right)
    fragment.bottom, fragment.top = min(fragment.bottom, word.bottom), max(fragment.top, word.top)


def regions(found: list[Fragment], depth: int = 0) -> list[list[Fragment]]:
    """Group fragments to be read one after the other, each group from top to bottom."""
    gutter = _gutter(found) if depth < _DEEPEST else None
    if gutter is None:
        return [found] if found else []
    left = [each for each in found if each.right <= gutter]
    right = [each for each in found if each.left >= gutter]
    across = sorted((each for each in found if each.left < gutter < each.right), key=lambda each: -each.middle)
    ordered: list[list[Fragment]] = []
    for bar in [*across, None]:
        level = bar.middle if bar else float("-inf")
        above = [[each for each in side if each.middle > level] for side in (left, right)]
        left, right = ([each for each in side if each.middle <= level] for side in (left, right))
        for side in above:
            ordered.extend(regions(side, depth + 1))
        if bar is not None:
            _append_bar(ordered, bar, joins=not any(above))
    return ordered


def _append_bar(ordered: list[list[Fragment]], bar: Fragment, *, joins: bool) -> None:
    """Merge lines across both columns that follow each other into one region."""
    if joins and ordered:
        ordered[-1].append(bar)
    else:
        ordered.append([bar])


def _gutter(found: list[Fragment]) -> float | None:
    """Find the gap between two columns of prose, if there are two.

    Tables have gutters too. A column of prose differs from a column of cells: its lines are long and nearly
    fill it.
    """
    if len(found) < 2 * _LEAST_LINES:
        return None
    low, high = min(each.left for each in found), max(each.right for each in found)
    margin = (high - low) * 0.2
    gap = _emptiest(found, low + margin, high - margin)
    if gap is None:
        return None
    middle = (gap[0] + gap[1]) / 2
    left = [each for each in found if each.right <= middle]
    right = [each for each in found if each.left >= middle]
    return middle if _is_prose(left) and _is_prose(right) else None


def _emptiest(found: list[Fragment], low: float, high: float) -> tuple[float, float] | None:
    """Find the widest gap that the fewest fragments cross, and only a few of them."""
    events = sorted([(each.left, 1) for each in found] + [(each.right, -1) for each in found])
    open_count = 0
    gaps: list[tuple[int, float, float, float]] = []
    for (here, change), (following, _) in pairwise(events):
        open_count += change
        start, end = max(here, low), min(following, high)
        if end > start:
            gaps.append((open_count, -(end - start), start, end))
    if not gaps:
        return None
    crossed, _, start, end = min(gaps)
    return (start, end) if crossed * 5 <= len(found) else None


def _is_prose(column: list[Fragment]) -> bool:
    if len(column) < _LEAST_LINES:
        return False
    width = max(each.right for each in column) - min(each.left for each in column)
    filled = median(each.right - each.left for each in column) >= width * _FILLED
    return filled and sum(each.characters for each in column) >= _LEAST_CHARACTERS * len(column)
