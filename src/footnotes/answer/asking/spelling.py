"""Corrects a misspelled question by the library's own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze

SHORTEST, SHORTEST_TWICE = 4, 7
"""The minimum letters of a word that may have one error, and two."""
_WORD = re.compile(r"[^\W\d_]++(?!['’][^\W\d_])")
"""Matches a whole word: `shouldn` in `shouldn't` is none."""


def corrected(question: str, texts: Iterable[str], frequency: Callable[[str], float]) -> str:
    """Replace each word that no document has by one of the passages at most two errors away, if there is one."""
    unknown = [word for word in dict.fromkeys(_WORD.findall(question)) if _is_unknown(word, frequency)]
    if not unknown:
        return question
    known = Counter(word.lower() for text in texts for word in _WORD.findall(text))
    for word in unknown:
        if other := _nearest(word.lower(), known):
            question = re.sub(rf"\b{re.escape(word)}\b", other, question)
    return question


def _is_unknown(word: str, frequency: Callable[[str], float]) -> bool:
    terms = [term for term in analyze(word, "en") if term not in function_terms()]
    return len(word) >= SHORTEST and bool(terms) and not any(frequency(term) for term in terms)


def _nearest(word: str, known: Counter[str]) -> str | None:
    """Return the most frequent of the nearest words with the same first letter."""
    found: tuple[int, int, str] | None = None
    for other, count in known.items():
        if other[:1] != word[:1] or abs(len(other) - len(word)) > 2 or len(other) < SHORTEST:
            continue
        slips = distance(word, other)
        allowed = 2 if min(len(word), len(other)) >= SHORTEST_TWICE else 1
        if 0 < slips <= allowed and (found is None or (slips, -count) < found[:2]):
            found = (slips, -count, other)
    return found[2] if found else None


def distance(one: str, other: str) -> int:
    """Count the letters to add, drop, change or swap with the next (Damerau 1964)."""
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        row = [at]
        for place, there in enumerate(other, 1):
            cost = min(rows[-1][place] + 1, row[-1] + 1, rows[-1][place - 1] + (letter != there))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == there:
                cost = min(cost, rows[-2][place - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
