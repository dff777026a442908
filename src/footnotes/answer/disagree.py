"""Finds two documents that give different values for the same thing: both are cited, the newer first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from footnotes.answer.candidates import Candidate
from footnotes.answer.numbers import numbers_in
from footnotes.text.analysis import analyze

Dated = Callable[[str], str]
"""Returns, for a document id, a text that sorts by the date of writing; empty if unknown."""

DISAGREE = "The documents do not agree; the newer is given first."
ALIKE = 0.6
"""The share of words, numbers aside, that two sentences on the same thing have in common."""
NEARLY = 0.05
"""The share of the best sentence's odds that a contradicting one must have."""
_DIGITS = re.compile(r"\d")

Ranked = Sequence[tuple[Candidate, float]]


def disagreement(ranked: Ranked, dated: Dated | None) -> list[tuple[Candidate, float]] | None:
    """Return the best sentence and one of another document that gives another value, the newer first."""
    if not ranked:
        return None
    best, likely = ranked[0]
    for other, chance in ranked[1:]:
        if _odds(chance) < NEARLY * _odds(likely):
            break
        if other.passage.document_id != best.passage.document_id and differ(best.text, other.text):
            pair = [(best, likely), (other, chance)]
            if dated is not None:
                pair.sort(key=lambda each: dated(each[0].passage.document_id), reverse=True)
            return pair
    return None


def differ(one: str, other: str) -> bool:
    """Return whether two sentences differ only in a number."""
    words = [frozenset(term for term in analyze(text, "en") if not _DIGITS.search(term)) for text in (one, other)]
    numbers = [{frozenset(number.values) for number in numbers_in(text)} for text in (one, other)]
    if not all(numbers) or numbers[0] & numbers[1] or len(numbers[0]) != len(numbers[1]):
        return False
    said = [w - {n.written.lower() for n in numbers_in(text)} for w, text in zip(words, (one, other), strict=True)]
    union = said[0] | said[1]
    return bool(union) and len(said[0] & said[1]) / len(union) >= ALIKE


def _odds(likelihood: float) -> float:
    return likelihood / max(1.0 - likelihood, 1e-9)
