"""Keeps a result from saying the same thing twice."""

from __future__ import annotations

from footnotes.types import LegScore, Scores

NEAR_IDENTICAL = 0.9
_LEXICAL_APART, _DENSE_APART = 0.25, 0.08
_BEGINNING = 240


class Diversity:
    """Decides, in rank order, which candidates may stay."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, Scores, frozenset[str]]] = []

    def admits(self, text: str, scores: Scores) -> bool:
        """Whether the candidate adds something; remembers it when it does."""
        beginning = frozenset(text[:_BEGINNING].split())
        for other, other_scores, other_beginning in self._kept:
            if (
                _close(scores, other_scores)
                and near_identical(beginning, other_beginning)
                and near_identical(frozenset(text.split()), frozenset(other.split()))
            ):
                return False
        self._kept.append((text, scores, beginning))
        return True


def near_identical(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the words of two texts are all but the same, by Jaccard similarity."""
    smaller, larger = len(one), len(other)
    if min(smaller, larger) < NEAR_IDENTICAL * max(smaller, larger):
        return False
    common = len(one & other)
    return common >= NEAR_IDENTICAL * (smaller + larger - common)


def _close(one: Scores, other: Scores) -> bool:
    """Texts with the same words have about the same scores: most pairs need not be compared word by word."""
    return _leg_close(one.lexical, other.lexical, relative=_LEXICAL_APART) and _leg_close(
        one.dense, other.dense, absolute=_DENSE_APART
    )


def _leg_close(one: LegScore | None, other: LegScore | None, *, relative: float = 0.0, absolute: float = 0.0) -> bool:
    if one is None or other is None:
        return True
    return abs(one.score - other.score) <= max(absolute, relative * max(abs(one.score), abs(other.score)))
