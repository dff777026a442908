# ruff: noqa: SIM905 (lists of words read better as prose)
"""Hints on how to read a sentence: what it points back to, its table's header, relations such as before or after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from footnotes.text.analysis import analyze

Relations = dict[str, str]
"""Terms, and the text's relation to each: `during`, `after`, `before` or `without`."""

REACH = 3
"""How many words a preposition may govern."""

_RELATED = {
    word: relation
    for relation, words in {
        "during": "during throughout während durante pendant",
        "after": "after nach después après",
        "before": "before until till vor bis antes hasta avant",
        "without": "without except ohne sin sans",
    }.items()
    for word in words.split()
}
_LATER = frozenset(
    "afterwards afterward thereafter later subsequently danach später después luego ensuite après".split()
)
_SKIPPED = frozenset(
    "the a an this that my our your his her their its der die das den dem la el le les los las".split()
)
_WORD = re.compile(r"[^\W_]+")
_POINTS_BACK = re.compile(
    r"[\"'“‘«(]?(?:(?:during|after|before|until|for|with|in) (?:it|this|that|them)|it|its|he|she|his|her|they|their"
    r"|this|these|those|such|both|er|sie|es|seine?|ihre?|diese[rs]?|él|ella|ellos|ellas|este|esta|estos|estas|esto"
    r"|il|elle|ils|elles|ce|cette|ces)\b|他|她|它|这|其",
    re.IGNORECASE,
)
_RULE = re.compile(r":?-{2,}:?")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+")
_GOES_ON = re.compile(
    r"(?:then|and then|otherwise|if (?:so|not)|to do (?:that|this|so)|for (?:that|this)"
    r"|in (?:that|this|those|these) cases?)\b",
    re.IGNORECASE,
)
_LEAVES_OPEN = re.compile(
    r"(?:(?!\b(?:if|when|where|unless|only)\b).)*\b(?:if (?:so|not)|otherwise)[.!]?\s*", re.IGNORECASE | re.DOTALL
)
"""A sentence that ends in "if not" or "otherwise" and has no condition of its own."""
_NEXT_STEP = re.compile(r"(?:and |but )?(?:then|next|after that|afterwards|finally|lastly|just)\b", re.IGNORECASE)


def points_back(sentence: str) -> bool:
    """Return whether a sentence opens with a word that stands for something in the one before it."""
    return _POINTS_BACK.match(sentence) is not None


def goes_on(sentence: str) -> bool:
    """Return whether a sentence continues the one before it: "Then …", "To do that, …", "It fails if not."."""
    return points_back(sentence) or _GOES_ON.match(sentence) is not None or _LEAVES_OPEN.fullmatch(sentence) is not None


def is_next_step(sentence: str) -> bool:
    """Return whether a sentence is the next step after the one before it: "Then …", "Finally, …"."""
    return _NEXT_STEP.match(sentence) is not None


def item_above(text: str, start: int) -> str:
    """Return the parent of a nested list item, without its mark; empty for any other text."""
    line = text.rfind("\n", 0, start) + 1
    own = _ITEM.match(text, line)
    if own is None or not own[1]:
        return ""
    while line > 0:
        end, line = line - 1, text.rfind("\n", 0, line - 1) + 1
        above = _ITEM.match(text, line, end)
        if above and _depth(above[1]) < _depth(own[1]):
            return text[above.end() : end].strip()
        if above is None and text[line:end].strip() and not text[line].isspace():
            return ""  # a paragraph: the list begins after it
    return ""


def _depth(indent: str) -> int:
    return len(indent.expandtabs(4))


def header_rows(text: str, spans: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Map each row of a table with a header row to the position of that row; the header maps to itself."""
    rows = {place: _cells(text[start:end]) for place, (start, end) in enumerate(spans) if "|" in text[start:end]}
    headers: dict[int, int] = {}
    for place in rows:
        if place - 1 not in rows:
            below = list(takewhile(lambda other: other in rows, range(place + 1, len(spans))))
            if _is_header(rows[place], [rows[other] for other in below]):
                headers |= dict.fromkeys((place, *below), place)
    return headers


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _is_header(first: list[str], below: list[list[str]]) -> bool:
    """Return whether a row is above a rule, or has a word above a column of numbers only."""
    if below and all(_RULE.fullmatch(cell) for cell in below[0]):
        return True
    columns = list(zip(first, *below, strict=False)) if below else []
    return any(not _has_digit(top) and all(map(_has_digit, rest)) for top, *rest in columns)


def _has_digit(cell: str) -> bool:
    return any(char.isdigit() for char in cell)


@lru_cache(maxsize=4_096)
def relations_of(text: str) -> Relations:
    """Return the terms after a preposition of time or exception, each with that relation."""
    found: Relations = {}
    relation, left = "", 0
    for word in _WORD.findall(text.lower()):
        if word in _RELATED:
            relation, left = _RELATED[word], REACH
        elif left and word not in _SKIPPED:
            for term in analyze(word, "en") if left == REACH else ():
                found.setdefault(term, relation)
            left = 0
    return found


def turned(asked: Relations, sentence: str) -> frozenset[str]:
    """Return the terms that the sentence has in another relation than the question: it then says something else."""
    here = relations_of(sentence)
    first = _WORD.search(sentence)
    later = first is not None and first[0].lower() in _LATER
    return frozenset(
        term
        for term, relation in asked.items()
        if here.get(term, relation) != relation or (later and relation != "after")
    )
