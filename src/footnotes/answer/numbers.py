# ruff: noqa: SIM905 (lists of words read better as prose)
"""Finds numbers in a text, in digits or words, with all their possible values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth".split()
_VALUES: dict[str, float] = {word: value for value, word in enumerate(_UNITS)}
_VALUES |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
_VALUES |= {word: 3 + place for place, word in enumerate(_ORDINALS)}
_VALUES |= {"dozen": 12, "twice": 2, "thrice": 3, "half": 0.5, "½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES |= {"mn": 1e6, "bn": 1e9, "tsd": 1e3, "mio": 1e6, "mrd": 1e9, "万": 1e4, "亿": 1e8}
WORDS = frozenset([*_VALUES, *_SCALES]) - {"one"}
_TOKEN = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d{3})*(?:[.,]\d+)?|[½¼¾⅓⅔万亿]|[^\W\d_]+")
_GROUPS = re.compile(r"['’\u00a0\u202f]")

# "One" is as often a pronoun as a number, "second" a unit of time: neither counts against a sentence.
LENIENT = frozenset({"one", "half", "zero"})


@dataclass(frozen=True, slots=True)
class Number:
    """A number and its position. `values` holds every reading: `1.500` is 1500 and 1.5."""

    written: str
    values: frozenset[float]
    start: int
    end: int


@lru_cache(maxsize=4_096)
def numbers_in(text: str) -> tuple[Number, ...]:
    """Find every number in a text: `two million` is 2,000,000, `twenty-four` 24, `4th` 4."""
    found: list[Number] = []
    for token in _TOKEN.finditer(text):
        word = token[0].lower()
        last = found[-1] if found else None
        between = text[last.end : token.start()].strip().lower() if last else ""
        if last and (values := _continued(last, word, between)):
            found[-1] = Number(last.written + " " + word, values, last.start, token.end())
        elif values := _readings(word):
            found.append(Number(word, values, token.start(), token.end()))
    return tuple(found)


def _continued(last: Number, word: str, between: str) -> frozenset[float]:
    """Return the values of a number with the next word, or nothing if that begins a new number."""
    if word in _SCALES and between in ("", "-"):
        return frozenset(value * _SCALES[word] for value in last.values)
    if not last.written[0].isalpha() or between not in ("", "-", "and"):
        return frozenset()
    return frozenset(big + small for big in last.values for small in _readings(word) if _fits(big, small))


def _fits(big: float, small: float) -> bool:
    """Return whether two numbers join, as in `three hundred and five`: the second is below the first's last place."""
    place = 10 if big < 100 else 100
    return big >= 20 and big % place == 0 and 0 < small < place


def _readings(word: str) -> frozenset[float]:
    if word in _VALUES:
        return frozenset({_VALUES[word]})
    if not word[0].isdecimal():
        return frozenset()
    plain = _GROUPS.sub("", word)
    grouped = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", plain).replace(",", ".")
    decimal = plain.replace(",", ".")
    return frozenset(float(reading) for reading in (grouped, decimal) if reading.count(".") <= 1)
