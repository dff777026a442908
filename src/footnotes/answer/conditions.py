"""Detects claims that join a condition of their source to the consequence of another, or swap the two.

"Free when the repair is ordered, and 40 euros otherwise" does not support "40 euros when the repair is ordered": it has
all the words, but says the reverse. "If the alarm rings, the door opens" does not support "If the door opens, the alarm
rings".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from footnotes.answer.numbers import WORDS as NUMBER_WORDS
from footnotes.answer.questions import FUNCTION_WORDS

_CLAUSE = re.compile(r"[;:.!?]\s+|,\s+(?:and|but|or|yet|while|whereas)?\s*|\s+(?:but|whereas)\s+", re.IGNORECASE)
_MARKER = re.compile(
    r"\b(otherwise|else|when|if|once|where|provided|unless|during|after|before|until|without|within)\b", re.IGNORECASE
)
_TURNABLE = re.compile(r"\b(when|if|once|provided|unless|because|after|before|until|although|while)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_ALIKE = {"if": "when", "once": "when", "where": "when", "provided": "when", "else": "otherwise"}
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
MOST_WORDS = 4
"""The maximum content words of a condition that no comma ends."""
ENOUGH = 0.6
"""The share of them that a clause must contain to be the same condition."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """The content of a clause, and its condition."""

    words: frozenset[str]
    marker: str
    condition: frozenset[str]


def misjoined(claim: str, source: str) -> bool:
    """Return whether a clause of the claim says under one condition what the source says under another."""
    given = list(_clauses(source))
    if len(given) < 2:
        return False
    return any(_is_misjoined(clause, given) for clause in _clauses(claim) if clause.marker)


def turned_around(claim: str, source: str) -> bool:
    """Return whether the claim swaps condition and consequence of its source."""
    said, given = _conditional(claim), [each for part in _SENTENCE.split(source) if (each := _conditional(part))]
    return said is not None and any(
        said.marker == other.marker
        and _held(said.condition, other.words) >= ENOUGH
        and _held(said.words, other.condition) >= ENOUGH
        and _held(said.condition, other.condition) < ENOUGH
        for other in given
    )


def _conditional(sentence: str) -> _Clause | None:
    """Split a sentence with one condition into its content and the condition, which may come first or last."""
    found = list(_TURNABLE.finditer(sentence))
    if len(found) != 1:
        return None
    before, after = sentence[: found[0].start()], sentence[found[0].end() :]
    condition, comma, rest = after.partition(",")
    if not _content(before):
        if not comma:
            return None
        before = rest
    words, tested = frozenset(_content(before)), frozenset(_content(condition))
    marker = found[0][1].lower()
    return _Clause(words, _ALIKE.get(marker, marker), tested) if len(words) > 1 and len(tested) > 1 else None


def _held(words: frozenset[str], other: frozenset[str]) -> float:
    return len(words & other) / len(words)


def _is_misjoined(clause: _Clause, given: Sequence[_Clause]) -> bool:
    same = {at for at, other in enumerate(given) if _is_same_condition(clause, other)}
    if not same:
        return False
    said = clause.words - clause.condition
    numbers = set(filter(_is_number, said))
    facts = [places for word in numbers or said if (places := _places(word, given))]
    # Words under both conditions prove nothing; a word that is only under another condition does.
    apart = [places for places in facts if not places & same and all(given[at].marker for at in places)]
    return len(apart) >= (1 if numbers else 2) and len(apart) * 2 > len(facts)


def _places(word: str, given: Sequence[_Clause]) -> set[int]:
    return {at for at, clause in enumerate(given) if word in clause.words}


def _is_same_condition(clause: _Clause, other: _Clause) -> bool:
    if clause.marker != other.marker:
        return False
    held = len(clause.condition & other.words)
    return held >= ENOUGH * len(clause.condition)


def _clauses(text: str) -> Iterator[_Clause]:
    for part in _CLAUSE.split(text):
        if part and (words := _content(part)):
            found = _MARKER.search(part)
            marker = _ALIKE.get(found[1].lower(), found[1].lower()) if found else ""
            stated = part[found.end() :] if found and marker != "otherwise" else ""
            condition = list(takewhile(lambda word: not _is_number(word), _content(stated)))[:MOST_WORDS]
            yield _Clause(frozenset(words), marker, frozenset(condition))


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS


def _content(text: str) -> list[str]:
    """Return the content words, in the singular."""
    words = [word.lower() for word in _WORD.findall(text) if word not in ("s", "S")]
    return [word.removesuffix("s") for word in words if word not in FUNCTION_WORDS and not _MARKER.fullmatch(word)]
