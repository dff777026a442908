# ruff: noqa: SIM905 (lists of words read better as prose)
"""Detects small changes in a claim that nearly repeats its source: two parts swapped, a small word replaced."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import combinations

from footnotes.answer.order import words_of

NEAR = 0.6
"""The share of a claim's words that the source must have in the same order."""
BESIDE = 2
"""The minimum equal words on either side of a change: with fewer, the sentence was rephrased."""
MOST_WORDS = 8
"""The maximum words of a part that changed places with another."""
_ARTICLES = frozenset("a an the s der die das ein eine el la los las un una le les une".split())
_JOINING = frozenset("and or nor und oder y o et ou".split())
_TURNS = (
    "may might can could ~ must shall required needs ~ will would ~ should recommended ~ optional",
    "all every each always entirely fully ~ some several many partly sometimes ~ most usually often generally ~ few"
    " little rarely seldom hardly ~ no none neither never",
    "from ~ to into towards",
    "with ~ without",
    "before ~ after following ~ until ~ during",
    "above ~ below",
    "and ~ or ~ nor",
    "because ~ although though despite",
    "if when ~ unless",
    "early earlier earliest ~ late later latest",
    "first ~ last",
    "about approximately roughly around nearly almost ~ exactly precisely",
    "more greater ~ less fewer smaller",
    "possible likely perhaps ~ certain certainly definitely ~ impossible unlikely",
    "only ~ also",
    "partly partially ~ fully completely entirely",
)
"""Small words: replacing one by another of its line with a different meaning changes what a sentence says."""
_Edit = tuple[int, int, int, int]


def edited(claim: str, source: str) -> bool:
    """Return whether a claim is its source except for two swapped parts, or a small word of another meaning."""
    given, said = words_of(source), words_of(claim)
    matched = SequenceMatcher(None, given, said, autojunk=False)
    if sum(block.size for block in matched.get_matching_blocks()) < NEAR * len(said):
        return False
    edits = [edit[1:] for edit in matched.get_opcodes() if edit[0] != "equal"]
    return _has_turned_word(edits, given, said) or _has_exchange(edits, given, said)


def _has_turned_word(edits: Sequence[_Edit], given: Sequence[str], said: Sequence[str]) -> bool:
    for begin, end, first, last in edits:
        if end - begin == last - first == 1 and _same_around(begin, first, given, said):
            before, after = _meanings(given[begin]), _meanings(said[first])
            if any(before[line] != after[line] for line in before.keys() & after.keys()):
                return True
    return False


def _same_around(begin: int, first: int, given: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether the words beside a changed one are the same in both: as many as the claim has, up to two."""
    left, right = said[max(0, first - BESIDE) : first], said[first + 1 : first + 1 + BESIDE]
    return bool(left or right) and (
        list(given[max(0, begin - len(left)) : begin]) == list(left)
        and list(given[begin + 1 : begin + 1 + len(right)]) == list(right)
    )


def _has_exchange(edits: Sequence[_Edit], given: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether two parts of the source are swapped; parts merely listed side by side do not count."""
    changed = [(_bare(given[one:two]), _bare(said[three:four]), one, two) for one, two, three, four in edits]
    for (mine, instead, _, end), (theirs, other, begin, _) in combinations(changed, 2):
        is_exchange = mine and theirs and mine == other and theirs == instead and mine != theirs
        if is_exchange and not set(given[end:begin]) <= _JOINING | _ARTICLES:
            return True
    return False


def _bare(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _ARTICLES)[:MOST_WORDS]


@lru_cache(maxsize=1_024)
def _meanings(word: str) -> dict[int, int]:
    """Map each line of small words that has a word to its meaning there."""
    return _lines().get(word, {})


@cache
def _lines() -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for line, row in enumerate(_TURNS):
        for meaning, words in enumerate(row.split("~")):
            for word in words.split():
                found.setdefault(word, {})[line] = meaning
    return found
