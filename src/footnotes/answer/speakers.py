"""Who says a sentence of a chat log, and when: what stands at the head of its line or above it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_DAY = r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}\.? [A-Z][a-z]{2,8}\.?,? \d{4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4})"
_TIME = rf"(?:[\[(]?(?:{_DAY}[ T,]*)?\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s?[AaPp][Mm])?[\])]?)"
_NAMED = r"(?P<name>@?[^\W\d_][\w.'’-]{0,24}(?: [^\W\d_][\w.'’-]{0,24}){0,2})"
_LINE = re.compile(
    rf"^[ \t>*-]*(?:{_TIME}[ \t,–-]*)?\*{{0,2}}<?{_NAMED}>?\*{{0,2}}(?:[ \t]*\(?{_TIME}\)?)?\*{{0,2}}:\*{{0,2}}[ \t]+",
    re.MULTILINE,
)
_ABOVE = re.compile(rf"^[ \t]*\*{{0,2}}{_NAMED}\*{{0,2}}[ \t,–-]+{_TIME}[ \t]*$", re.MULTILINE)
_DATED = re.compile(_DAY)
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) (?:night|morning|afternoon|evening|week|weekend|month"
    r"|year|summer|winter|spring|fall|autumn|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:a|an|one|two|three|few"
    r"|couple of|\d+) (?:day|week|month|year)s? ago|the other day|just (?:now|yesterday)|recently)\b",
    re.IGNORECASE,
)
LEAST = 3
"""Lines with a speaker that make a text a chat."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a message: who says it, with what tells when."""

    start: int
    name: str
    text: str


@lru_cache(maxsize=256)
def heads_in(text: str) -> tuple[Head, ...]:
    """The heads of the messages of a text, in order."""
    found = sorted([*_LINE.finditer(text), *_ABOVE.finditer(text)], key=lambda match: match.start())
    return tuple(Head(each.start(), each["name"].lstrip("@"), each[0].strip(" \t\n:*>-")) for each in found)


def speakers_in(texts: Sequence[str]) -> frozenset[str]:
    """Who speaks in the texts of one document; nobody where it is no chat."""
    names = Counter(head.name for text in texts for head in heads_in(text))
    # Who talks speaks again; labels of a list do not.
    return frozenset(names) if names.total() >= LEAST and 1 < len(names) < names.total() else frozenset()


def head_of(text: str, at: int, speakers: frozenset[str]) -> Head | None:
    """The head of the message that the sentence at `at` is part of."""
    before = [head for head in heads_in(text) if head.start <= at and head.name in speakers] if speakers else []
    return before[-1] if before else None


def opens_message(text: str, at: int, head: Head) -> bool:
    """Whether what stands at `at` begins with the head itself, and so says who speaks."""
    return not text[head.start : at].strip(" \t\n*>-")


def is_relative(sentence: str) -> bool:
    """Whether a sentence tells a time by when it was said: yesterday, last week."""
    return _RELATIVE.search(sentence) is not None


def day_before(text: str, at: int) -> str:
    """The last date that stands before a place of a text, as it is written there."""
    days = _DATED.findall(text, 0, at)
    return str(days[-1]) if days else ""
