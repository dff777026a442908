"""Keeps a result from saying the same thing twice."""

from __future__ import annotations

from footnotes.types import LegScore, Scores

NEAR_IDENTICAL = 0.9
_LEXICAL_APART, _DENSE_APART = 0.25, 0.08


class Diversity:
    """Decides, in rank order, which candidates may stay."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, Scores, frozenset[str] | None]] = []

    def admits(self, text: str, scores: Scores) -> bool:
        """Whether the candidate adds something; remembers it when it does."""
        words: frozenset[str] | None = None
        for number, (other, other_scores, other_words) in enumerate(self._kept):
            if not (_close(scores, other_scores) and _similar_length(text, other)):
                continue
            words = words or frozenset(text.split())
            if other_words is None:
                other_words = frozenset(other.split())
                self._kept[number] = (other, other_scores, other_words)
            if near_identical(words, other_words):
                return False
        self._kept.append((text, scores, words))
        return True


def near_identical(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the words of two texts are all but the same, by Jaccard similarity."""
    common = len(one & other)
    return common >= NEAR_IDENTICAL * (len(one) + len(other) - common)


def _close(one: Scores, other: Scores) -> bool:
    """Texts with the same words have about the same scores: most pairs need not be compared word by word."""
    return _leg_close(one.lexical, other.lexical, relative=_LEXICAL_APART) and _leg_close(
        one.dense, other.dense, absolute=_DENSE_APART
    )


def _leg_close(one: LegScore | None, other: LegScore | None, *, relative: float = 0.0, absolute: float = 0.0) -> bool:
    if one is None or other is None:
        return True
    return abs(one.score - other.score) <= max(absolute, relative * max(abs(one.score), abs(other.score)))


def _similar_length(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= (NEAR_IDENTICAL - 0.1) * max(len(one), len(other))
