"""Finds quotes by a fingerprint of their words: questions about other people's texts then need no copy of these."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_DIGITS = 16


def fingerprint(quote: str) -> str:
    """Return how many words a quote has, and their hash, without regard to case, spaces and punctuation."""
    words = _WORD.findall(quote.lower())
    return f"{len(words)}:{_hash(words)}"


def places_of(text: str, mark: str) -> list[tuple[int, int]]:
    """Return every place of a text whose words have a fingerprint."""
    count, wanted = int(mark.partition(":")[0]), mark.partition(":")[2]
    found = list(_WORD.finditer(text))
    words = [word[0].lower() for word in found]
    return [
        (found[at].start(), found[at + count - 1].end())
        for at in range(len(words) - count + 1 if count else 0)
        if _hash(words[at : at + count]) == wanted
    ]


def _hash(words: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:_DIGITS]
