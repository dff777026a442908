"""Detects the language of a document as an ISO 639-1 code, for people and filters; None if unsure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnotes.text.languages import detect_with_share
from footnotes.types import JsonValue

_SAMPLE = 1_500
_BEYOND_LATIN = re.compile("[^\u0000-\u036f]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_LEAST_WORDS = 12
_MOST_LETTERS = 200
_LEAST_SHARE = 0.1
"""The least share of function words. Prose has one in ten words; lists of names or numbers have hardly any."""
_SCRIPTS: Sequence[tuple[str, str]] = (
    ("ja", "\u3041-\u30ff"),
    ("ko", "\uac00-\ud7a3"),
    ("zh", "\u4e00-\u9fff"),
    ("ru", "\u0400-\u04ff"),
    ("el", "\u0370-\u03ff"),
    ("he", "\u0590-\u05ff"),
    ("ar", "\u0600-\u06ff"),
    ("hi", "\u0900-\u097f"),
    ("th", "\u0e00-\u0e7f"),
    ("hy", "\u0530-\u058f"),
    ("ka", "\u10a0-\u10ff"),
)
"""Languages with a script mostly of their own; kana come before the characters that Japanese shares."""
_TOLD_BY_LETTERS = {"ru": (("be", "ў"), ("uk", "їєґі"), ("sr", "ђћџ")), "ar": (("fa", "پچژگ"), ("ur", "ٹڈےہ"))}


def language_of(text: str) -> str | None:
    """Return the language of a text, judged by its beginning; None if unsure."""
    sample = text[:_SAMPLE]
    if not sample.isascii() and (by_script := _by_script(sample)):
        return by_script
    words = sample.lower().split()
    if len(words) < _LEAST_WORDS:
        return None
    found, share = detect_with_share(words)
    return found if share >= _LEAST_SHARE else None


def _by_script(sample: str) -> str | None:
    letters = list(filter(str.isalpha, _BEYOND_LATIN.findall(sample)))
    plain = len(sample.encode("ascii", "ignore").translate(None, _NO_LETTERS))  # most letters, and quick to count
    if not letters or len(letters) * 4 < plain or len(letters) * 4 < sum(map(str.isalpha, sample)):
        return None
    letters = letters[:_MOST_LETTERS]
    counts = {language: sum(edges[0] <= char <= edges[2] for char in letters) for language, edges in _SCRIPTS}
    best = max(counts, key=lambda language: counts[language])
    if counts["ja"] * 10 > len(letters):
        best = "ja"
    elif counts[best] * 2 < len(letters):
        return None
    others = _TOLD_BY_LETTERS.get(best, ())
    return next((other for other, marks in others if any(mark in sample for mark in marks)), best)


def stated_language(text: str) -> dict[str, JsonValue]:
    """Return the language as metadata; empty if unsure."""
    language = language_of(text)
    return {} if language is None else {"language": language}
