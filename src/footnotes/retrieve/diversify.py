"""Keeps a result from saying the same thing twice."""

from __future__ import annotations

from collections import Counter

from footnotes.store.records import HitRow

NEAR_IDENTICAL = 0.9


class Diversity:
    """Decides, in rank order, which candidates may stay."""

    def __init__(self, per_document: int) -> None:
        self._per_document = per_document
        self._documents: Counter[str] = Counter()
        self._words: list[frozenset[str]] = []

    def admits(self, row: HitRow) -> bool:
        """Whether the candidate adds something; remembers it when it does."""
        if self._documents[row.document_id] >= self._per_document:
            return False
        words = frozenset(row.text.split())
        if any(_near_identical(words, other) for other in self._words):
            return False
        self._documents[row.document_id] += 1
        self._words.append(words)
        return True


def _near_identical(one: frozenset[str], other: frozenset[str]) -> bool:
    """Jaccard similarity of the words; sets of very different size cannot reach it and are not compared."""
    smaller, larger = sorted((len(one), len(other)))
    if smaller < NEAR_IDENTICAL * larger:
        return False
    common = len(one & other)
    return common >= NEAR_IDENTICAL * (smaller + larger - common)
