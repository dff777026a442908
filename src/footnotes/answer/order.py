"""Detects claims that swap words of their source, or turn a word into its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import combinations, pairwise

from footnotes.answer.questions import FUNCTION_WORDS

Unit = tuple[str, ...]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:[._'’-]+[^\W_]+)*")
_JOINED = re.compile(r"[\s,;/&]*(?:and|or|und|oder|y|et)?[\s,;/&]*(?:the|a|an)?\s*\Z", re.IGNORECASE)
NEAR = 0.5
"""The share of a claim's neighbouring words that must be neighbours in the source to detect a swap."""
RESTORED, RESTORED_PLAIN = 2, 3
"""How many more neighbours must be restored by swapping back two names or numbers, or two other words."""
MOST, LONGEST_NAME = 16, 4
ENDINGS = ("", "s", "es", "ed", "d", "ing", "er", "est", "ly")


def exchanged(claim: str, source: str) -> bool:
    """Return whether swapping two words, names or numbers would bring the claim nearer to its source."""
    words, there = words_of(claim), _pairs(words_of(source))
    here = _shared(words, there)
    if here == max(0, len(words) - 1):
        return False
    units = _units(claim)
    facts = [unit for unit in units if _is_fact(claim, unit)]
    for one, other in combinations([*facts, *(unit for unit in units if unit not in facts)][:MOST], 2):
        swapped = _swapped(words, one, other)
        gained = _shared(swapped, there) - here
        plain = one not in facts or other not in facts
        if gained < (RESTORED_PLAIN if plain else RESTORED) or _shared(swapped, there) < NEAR * (len(words) - 1):
            continue
        if not _joined(source, one, other):
            return True
    return any(_takes_a_place(unit, words, source) for unit in facts)


def _takes_a_place(unit: Unit, words: Sequence[str], source: str) -> bool:
    """Return whether a name or number of the claim is between two words that enclose another one in the source.

    In the source it must be next to neither of the two.
    """
    given = words_of(source)
    around = [(words[at - 1], words[at + len(unit)]) for at in _places(unit, words) if 0 < at < len(words) - len(unit)]
    beside = [(given[at - 1 : at], given[at + len(unit) : at + len(unit) + 1]) for at in _places(unit, given)]
    for left, right in around:
        if any([left] == list(before) or [right] == list(after) for before, after in beside):
            continue
        for at in range(1, len(given) - 1):
            for size in range(1, min(LONGEST_NAME, len(given) - at - 1) + 1):
                other = tuple(given[at : at + size])
                if (given[at - 1], given[at + size]) == (left, right) and _alike(unit, other):
                    return not _joined(source, unit, other)
    return False


def _alike(unit: Unit, other: Unit) -> bool:
    """Return whether both are names, or both numbers, and differ; `Smith` and `John Smith` do not."""
    digits = unit[0][:1].isdigit() == other[0][:1].isdigit()
    return digits and not set(unit) & set(other) and not set(other) <= FUNCTION_WORDS


def opposite_in_place(claim: str, source: str) -> bool:
    """Return whether the claim has a word where the source has its opposite."""
    words, given = words_of(claim), words_of(source)
    there = _pairs(given)
    for place, word in enumerate(words):
        if word in given:
            continue
        for other in opposites(word):
            if other in given and other not in words:
                turned = [*words[:place], other, *words[place + 1 :]]
                if _shared(turned, there) > _shared(words, there) and _shared(turned, there) >= NEAR * (len(words) - 1):
                    return True
    return False


@cache
def opposites(word: str) -> frozenset[str]:
    """Return the opposites of a word in WordNet, with the same ending."""
    found = set()
    for ending in ENDINGS:
        stem = word.removesuffix(ending) if ending else word
        if ending and stem == word:
            continue
        for base in (stem, stem + "e") if ending else (stem,):
            found |= {_ended(other, ending) for other in _antonyms().get(base, ())}
    return frozenset(found - {word})


def _ended(word: str, ending: str) -> str:
    if not ending:
        return word
    return word.removesuffix("e") + ending if ending[0] in "ei" else word + ending


@cache
def _antonyms() -> dict[str, frozenset[str]]:
    """Load WordNet's antonyms, in both directions."""
    found: dict[str, set[str]] = {}
    lines = (resources.files("footnotes.answer") / "data" / "antonyms.tsv").read_text(encoding="utf-8").splitlines()
    for one, _, other in (line.partition("\t") for line in lines):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=4_096)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return [token.lower() for token in _tokens(text)]


def _pairs(words: Sequence[str]) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words))


def _shared(words: Sequence[str], there: frozenset[tuple[str, str]]) -> int:
    return sum(pair in there for pair in pairwise(words))


def _units(claim: str) -> list[Unit]:
    """Return the units that may be swapped: names of several words as one, numbers and other content words alone."""
    units: list[list[str]] = []
    last, named = 0, False
    for token in _TOKEN.finditer(claim):
        word, capital = token[0].lower(), token[0][:1].isupper()
        if word not in FUNCTION_WORDS:
            if named and capital and not claim[last : token.start()].strip():
                units[-1].append(word)
            else:
                units.append([word])
        last, named = token.end(), capital and word not in FUNCTION_WORDS
    return list(dict.fromkeys(map(tuple, units)))


def _is_fact(claim: str, unit: Unit) -> bool:
    """Return whether a unit is a number, a name, or a name in code."""
    token = next((token for token in _tokens(claim) if token.lower() == unit[0]), unit[0])
    return token[:1].isdigit() or not token.islower() or any(char in token for char in "._")


def _swapped(words: Sequence[str], one: Unit, other: Unit) -> list[str]:
    result: list[str] = []
    at = 0
    while at < len(words):
        for unit, instead in ((one, other), (other, one)):
            if tuple(words[at : at + len(unit)]) == unit:
                result += instead
                at += len(unit)
                break
        else:
            result.append(words[at])
            at += 1
    return result


def _places(unit: Unit, words: Sequence[str]) -> Iterator[int]:
    return (at for at in range(len(words)) if tuple(words[at : at + len(unit)]) == unit)


def _joined(source: str, one: Unit, other: Unit) -> bool:
    """Return whether the source names the two side by side: then their order means nothing."""
    spans = [list(_found(source, unit)) for unit in (one, other)]
    return any(
        _JOINED.fullmatch(source[min(one[1], other[1]) : max(one[0], other[0])])
        for one in spans[0]
        for other in spans[1]
    )


def _found(source: str, unit: Unit) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"[\s\W]+".join(map(re.escape, unit)), source, re.IGNORECASE):
        yield match.span()
