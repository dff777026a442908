"""Guesses what a terse question asks for: "turn on debug logging" wants steps, "default port" a number.

A logistic model over the words of a question, fitted by `training/forms.py` on questions about documentation. It reads
English only, and is asked where no question word tells.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import TypedDict

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|\?")
_ASKING = frozenset((
    "what", "which", "how", "why", "when", "where", "who",
    "is", "does", "are", "can", "do", "should", "will", "if", "?",
))  # fmt: skip
_SHORT, _MIDDLE = 5, 10


class _Fitted(TypedDict):
    kinds: list[str]
    bias: list[float]
    weights: dict[str, list[int]]  # hundredths


def features(question: str) -> frozenset[str]:
    """Return the words of a question, its pairs of words, how it begins and ends, and about how long it is."""
    words = ["0" if word.isdigit() else word for word in _WORD.findall(question.lower().replace("’", "'"))]
    found = {*words, *(f"{one} {other}" for one, other in pairwise(words))}
    if words:
        found |= {f"^{words[0]}", f"^{' '.join(words[:2])}", f"{words[-1]}$"}
    if not _ASKING.intersection(words):
        found.add("#asks nothing")
    found.add("#short" if len(words) <= _SHORT else "#middle" if len(words) <= _MIDDLE else "#long")
    return frozenset(found)


@lru_cache(maxsize=256)
def guess_kind(question: str) -> tuple[str, float]:
    """Return what the question most likely asks for, as `training/documentation` names it, and how likely that is."""
    fitted = _fitted()
    known = [fitted["weights"][each] for each in features(question) if each in fitted["weights"]]
    scale = scale_of(len(known)) / 100
    totals = [bias + scale * sum(each[at] for each in known) for at, bias in enumerate(fitted["bias"])]
    odds = [math.exp(total - max(totals)) for total in totals]
    best = max(range(len(odds)), key=odds.__getitem__)
    return fitted["kinds"][best], odds[best] / sum(odds)


def scale_of(count: int) -> float:
    """Return the weight of each feature of a question that has so many: a long one has no more to say."""
    return 2 / math.sqrt(max(1, count))


@cache
def _fitted() -> _Fitted:
    text = (resources.files("footnotes.answer") / "data" / "forms.json").read_text("utf-8")
    fitted: _Fitted = json.loads(text)
    return fitted
