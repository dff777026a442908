"""Removes near-duplicates from a result, and limits the chunks per document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from footnotes.types import Scores

NEAR_IDENTICAL = 0.97
_LEXICAL_APART, _DENSE_APART = 0.15, 0.05
_BEGINNING = 240
_LOOKED_FOR = 4
SHORT, MOSTLY = 4, 0.8
"""A document of up to 4 chunks is short. If 80% of the hits are in longer ones, documents may show several chunks."""


class _Text:
    """A text with cached features for quick comparison."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def beginning(self) -> str:
        return self.text[:_BEGINNING]

    @cached_property
    def longest(self) -> list[str]:
        """The longest words of its beginning: a near-identical text lacks few of them."""
        return sorted(self.beginning.split(), key=len)[-_LOOKED_FOR:]

    def may_equal(self, other: _Text) -> bool:
        found = sum(word in other.beginning for word in self.longest)
        return found >= len(self.longest) - _LOOKED_FOR // 2


class Diversity:
    """Decides which candidates to keep, in rank order."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, float, _Text]] = []

    def admits(self, text: str, scores: Scores) -> bool:
        """Return whether the candidate adds something new; remember it if so."""
        dense = scores.dense.score if scores.dense else 0.0
        lexical = scores.lexical.score if scores.lexical else 0.0
        this = _Text(text)
        least, most = lexical * (1 - _LEXICAL_APART), lexical * (1 + _LEXICAL_APART)
        for other_dense, other_lexical, other in self._kept:
            # Texts with the same words have similar scores, so most pairs need no comparison by words.
            if (
                abs(dense - other_dense) <= _DENSE_APART
                and least <= other_lexical <= most
                and this.may_equal(other)
                and _same_words(text, other.text)
            ):
                return False
        self._kept.append((dense, lexical, this))
        return True


def _same_words(one: str, other: str) -> bool:
    """Return whether two texts are near-identical. Most pairs already differ in their beginnings."""
    return near_identical(set(one[:_BEGINNING].split()), set(other[:_BEGINNING].split())) and near_identical(
        set(one.split()), set(other.split())
    )


def near_identical(one: set[str], other: set[str]) -> bool:
    """Return whether two sets of words are nearly the same, by Jaccard similarity."""
    smaller, larger = len(one), len(other)
    if min(smaller, larger) < NEAR_IDENTICAL * max(smaller, larger):
        return False
    common = len(one & other)
    return common >= NEAR_IDENTICAL * (smaller + larger - common)


def usual_chunks(totals: Sequence[int]) -> int:
    """Return how many chunks each document may show: one, or 0 if nearly all of the first hits are in long documents.

    `totals` holds, for each hit, the chunks of its document. 0 means that each document's length sets its limit: an
    answer is a place in a long document, but further chunks of a short one only push better hits out.
    """
    return 0 if totals and sum(total > SHORT for total in totals) >= MOSTLY * len(totals) else 1


def most_chunks(per_document: int, total: int) -> int:
    """Return how many chunks a document may show: the given number or, if that is 0, a number set by its length."""
    return per_document or max(1, 2 * (total - SHORT))
