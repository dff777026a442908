"""Keeps a result from saying the same thing twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from footnotes.types import Scores

NEAR_IDENTICAL = 0.97
_LEXICAL_APART, _DENSE_APART = 0.15, 0.05
_BEGINNING = 240
_LOOKED_FOR = 4
SHORT, MOSTLY = 4, 0.8
"""A document of so many chunks is one short text; what is a good deal longer is many, and gives as they are found."""


class _Text:
    """A text, with what tells it apart quickly, made when it is first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def beginning(self) -> str:
        return self.text[:_BEGINNING]

    @cached_property
    def longest(self) -> list[str]:
        """The longest words of its beginning: a text that is nearly the same lacks few of them."""
        return sorted(self.beginning.split(), key=len)[-_LOOKED_FOR:]

    def may_equal(self, other: _Text) -> bool:
        found = sum(word in other.beginning for word in self.longest)
        return found >= len(self.longest) - _LOOKED_FOR // 2


class Diversity:
    """Decides, in rank order, which candidates may stay."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, float, _Text]] = []

    def admits(self, text: str, scores: Scores) -> bool:
        """Whether the candidate adds something; remembers it when it does."""
        dense = scores.dense.score if scores.dense else 0.0
        lexical = scores.lexical.score if scores.lexical else 0.0
        this = _Text(text)
        least, most = lexical * (1 - _LEXICAL_APART), lexical * (1 + _LEXICAL_APART)
        for other_dense, other_lexical, other in self._kept:
            # Texts with the same words have about the same scores: most pairs need not be compared word by word.
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
    """Near-identical from their beginnings on; most pairs are told apart by these already."""
    return near_identical(set(one[:_BEGINNING].split()), set(other[:_BEGINNING].split())) and near_identical(
        set(one.split()), set(other.split())
    )


def near_identical(one: set[str], other: set[str]) -> bool:
    """Whether the words of two texts are all but the same, by Jaccard similarity."""
    smaller, larger = len(one), len(other)
    if min(smaller, larger) < NEAR_IDENTICAL * max(smaller, larger):
        return False
    common = len(one & other)
    return common >= NEAR_IDENTICAL * (smaller + larger - common)


def usual_chunks(totals: Sequence[int]) -> int:
    """How many chunks any document may give by what was found first: one unless nearly all of it is of long documents.

    `totals` says how many chunks the document of each has. 0 means as many as its own length allows: where long
    documents are searched, an answer is a place in them; of short ones, the other chunks keep better ones out.
    """
    return 0 if totals and sum(total > SHORT for total in totals) >= MOSTLY * len(totals) else 1


def most_chunks(per_document: int, total: int) -> int:
    """How many chunks a document may give: as many as was said or, where nothing was (0), as its length allows."""
    return per_document or max(1, 2 * (total - SHORT))
