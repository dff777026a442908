"""Checks whether a number of a claim follows by arithmetic from its others: from 40 to 50 is an increase of 25%.

A model may compute a figure that no source has. It is accepted if the claim names the numbers it was computed from, the
source has them, and the arithmetic is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from footnotes.answer.numbers import Number

_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b|percentage points?\b)", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:increas|decreas|ris(?:e|en|ing)|rose|fell|fall|grew|grow|declin|drop|reduc|up\b|down\b|high|low|more\b|less\b"
    r"|fewer\b|differ|gap\b|gain|los[ts]|chang)",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:totals?|sum|together|combined|altogether|in all|adds? up)\b", re.IGNORECASE)
_TIMES = re.compile(r"\b(?:times|ratio|fold|twice|multiple)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_BASE = re.compile(
    r"\b(?:from|than|compared (?:to|with)|against|over|of)\s+(?:[^\d\s]{1,3}|\w+\s){0,2}\Z", re.IGNORECASE
)
_DIGITS = re.compile(r"\d[\d.,'’]*")


def follows(claim: str, number: Number, known: Sequence[Number]) -> bool:
    """Return whether a number can be computed, as the claim says it was, from others that the source has."""
    others = [other for other in known if other.start != number.start and not _is_year(other)]
    if len(others) < 2:
        return False
    percent = _PERCENT.match(claim, number.end) is not None
    slack = _slack(number)
    return any(
        abs(result - value) <= slack for result in _results(claim, others, percent=percent) for value in number.values
    )


def _results(claim: str, others: Sequence[Number], *, percent: bool) -> Iterator[float]:
    changes = _CHANGE.search(claim) is not None
    for one, other in combinations(others, 2):
        base, later = _ordered(claim, one, other)
        first, second = _value(base), _value(later)
        if percent and changes and first:
            yield abs(second - first) / abs(first) * 100
        elif percent and max(first, second) > 0:
            yield min(first, second) / max(first, second) * 100
        elif changes:
            yield abs(second - first)
        if _TIMES.search(claim) and min(first, second) > 0:
            yield max(first, second) / min(first, second)
    values = [_value(other) for other in others]
    if _TOTAL.search(claim) and not percent:
        yield sum(values)
    if _MEAN.search(claim):
        yield sum(values) / len(values)


def _ordered(claim: str, one: Number, other: Number) -> tuple[Number, Number]:
    """Return the number a change starts from, then the other: `from 40 to 50`, `50, up from 40`; else the first."""
    return (
        (other, one) if _BASE.search(claim, 0, other.start) and not _BASE.search(claim, 0, one.start) else (one, other)
    )


def _value(number: Number) -> float:
    """Return the reading with grouped thousands, which is the larger one."""
    return max(number.values)


def _is_year(number: Number) -> bool:
    return number.written.isdecimal() and len(number.written) == 4 and 1900 <= int(number.written) <= 2100


def _slack(number: Number) -> float:
    """Return half a unit of the last place that a number is written with."""
    digits = _DIGITS.match(number.written)
    if digits is None:
        return 1e-6
    written = digits[0].replace(",", "").rstrip(".")
    places = len(written.partition(".")[2])
    scale = _value(number) / float(written) if written.replace(".", "", 1).isdecimal() and float(written) else 1.0
    return 0.5001 * 10.0**-places * max(1.0, scale)
