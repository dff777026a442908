"""The facts of a claim that its source must have whatever the wording: numbers, dates, names, and names in code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from footnotes.answer.numbers import LENIENT, Number, numbers_in
from footnotes.answer.questions import FUNCTION_WORDS
from footnotes.text.analysis import analyze
from footnotes.text.languages import detect

RIGHT_BEFORE = 2
NEAR = 48
"""The maximum characters between a number and the word it counts."""

_AROUND = "\"'“”‘’«»()[]{}*_,;:!?….…"
_COUNTED = re.compile(r"[\s:-]{1,3}([a-zß-öø-ÿ]{3,})")
_PLACE = re.compile(r"[^\W\d_]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CODE = re.compile(
    r"`([^`\n]{2,80})`|(?<![\w.])((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w+)|\b(\w*[A-Za-z0-9]_\w+)|\b([a-z]+[A-Z]\w*)"
    r"|(?<![\w-])(--?[A-Za-z][\w-]+)|\b([A-Za-z_]\w*)\(\)"
)
_ISO_DATE = re.compile(r"\b\d{4}-(\d{2})-\d{2}\b")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a claim: numbers, each with the term it counts if any follows, spellings of names, names in code,
    which have one spelling."""

    numbers: tuple[tuple[Number, frozenset[str]], ...]
    names: tuple[frozenset[str], ...]
    code: tuple[str, ...] = ()
    claim: str = ""


def facts_of(claim: str, *, ordinary: frozenset[str] = frozenset()) -> Facts:
    """Find the numbers and names of a claim. `ordinary` words are no names, even capitalised at its beginning."""
    numbers = [number for number in numbers_in(claim) if number.written not in LENIENT]
    counted = tuple((number, _count(claim, number)) for number in numbers)
    return Facts(counted, tuple(_names(claim, ordinary)), tuple(code_names(claim)), claim)


def code_names(text: str) -> list[str]:
    """Find names written as code: in backticks, or with dots, underscores, brackets, inner capitals or dashes."""
    found = ["".join(filter(None, groups)) for groups in _CODE.findall(text)]
    return [
        name for each in found if (name := " ".join(each.split()).removesuffix("()")) and not _is_abbreviation(name)
    ]


def _is_abbreviation(name: str) -> bool:
    """Return whether a name has dots between single letters: `e.g`, `U.S`."""
    return all(len(part) <= 2 for part in name.split(".")) and "_" not in name and "-" not in name


def missing_fact(facts: Facts, source: str, terms: frozenset[str], passage: str) -> str | None:
    """Return the first number or name of the claim missing in the source, a span of the passage with these terms."""
    left, known, absent = list(numbers_in(source)), list[Number](), list[Number]()
    for number, counted in facts.numbers:
        # A number that occurs twice in the claim must occur twice in the source.
        match = next((other for other in left if other.values & number.values), None)
        if match is not None and not _counts_there(number, counted, passage):
            return number.written
        (absent if match is None else known).append(number)
        if match is not None:
            left.remove(match)
    for number in absent:
        if not follows(facts.claim, number, known):
            return number.written
    joined = " ".join(source.split())
    for name in facts.code:
        if name not in joined:
            return name
    for spellings in facts.names:
        if not spellings & terms and not _is_month_of(spellings, source):
            return min(spellings)
    return None


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────


def _count(claim: str, number: Number) -> frozenset[str]:
    """Return the term a number counts: the word right after it, unless the number is a year."""
    following = _COUNTED.match(claim, number.end)
    if following is None or following[1].lower() in FUNCTION_WORDS or _is_year(number):
        return frozenset()
    return frozenset(analyze(following[1], "en"))


def _is_year(number: Number) -> bool:
    return len(number.written) == 4 and number.written.isdecimal() and 1000 <= int(number.written) <= 2100


def _counts_there(number: Number, counted: frozenset[str], passage: str) -> bool:
    """Return whether the passage gives the counted word this number, if it gives any.

    A number right before the word belongs to it; otherwise any number near it may.
    """
    if not counted:
        return True
    numbers = numbers_in(passage)
    given: list[Number] = []
    for start in (start for terms, start in _places(passage) if terms & counted):
        own = [other for other in numbers if 0 <= start - other.end <= RIGHT_BEFORE]
        given += own or [other for other in numbers if abs(start - other.start) <= NEAR]
    return not given or any(other.values & number.values for other in given)


@lru_cache(maxsize=4_096)
def _places(text: str) -> tuple[tuple[frozenset[str], int], ...]:
    return tuple((frozenset(analyze(word[0], "en")), word.start()) for word in _PLACE.finditer(text))


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────


def _names(claim: str, ordinary: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield capitalised words except sentence openings. In German, which capitalises every noun, only pairs count."""
    words = claim.split()
    nouns_too = detect(words) == "de"
    opening = True
    for place, word in enumerate(words):
        bare = word.strip(_AROUND)
        noun = nouns_too and not _in_a_pair(words, place) and not any(char.isupper() for char in bare[1:])
        if bare[:1].isupper() and not noun and not (opening and _merely_opens(words, place, ordinary)):
            yield from _spellings(bare)
        opening = word[-1:] in ".!?:" or (opening and not any(char.isalpha() for char in word))


def _in_a_pair(words: list[str], place: int) -> bool:
    around = words[max(0, place - 1) : place] + words[place + 1 : place + 2]
    return any(word[:1].isupper() and word.strip(_AROUND).lower() not in FUNCTION_WORDS for word in around)


def _spellings(word: str) -> Iterator[frozenset[str]]:
    for part in re.split(r"[-/]", word):
        if part[:1].isupper() and part.lower() not in FUNCTION_WORDS:
            spellings = frozenset(analyze(part, "en"))
            if spellings:
                yield spellings


def _merely_opens(words: list[str], place: int, ordinary: frozenset[str]) -> bool:
    """Return whether a capital only opens a sentence: it proves nothing unless the next word has one too."""
    word = words[place].strip(_AROUND)
    if word.lower() in FUNCTION_WORDS or word.lower() in ordinary:
        return True
    following = words[place + 1].strip(_AROUND) if place + 1 < len(words) else ""
    return not (following[:1].isupper() or any(char.isupper() or char.isdigit() for char in word[1:]))


def _is_month_of(spellings: frozenset[str], source: str) -> bool:
    """Return whether a month is named by a date: `2024-03-31` contains `March`."""
    months = {_MONTHS.index(name[:3]) + 1 for name in spellings if name[:3] in _MONTHS}
    return bool(months & {int(month) for month in _ISO_DATE.findall(source)})


# Checks whether a number of a claim follows by arithmetic from its others: from 40 to 50 is an increase of 25%.
#
# A model may compute a figure that no source has. It is accepted if the claim names the numbers it was computed from,
# the source has them, and the arithmetic is right.


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
    others = [other for other in known if other.start != number.start and not _may_be_year(other)]
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


def _may_be_year(number: Number) -> bool:
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
