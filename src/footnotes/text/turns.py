# ruff: noqa: E501, SIM905 (patterns and lists of words read better whole)
"""Finds the turns of chats, with speakers and times, in the formats that programs write and export."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY = (
    rf"(?:\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}(?:st|nd|rd|th)?\.?[ -]{_MONTH},?[ -](?:\d{{4}}|\d{{2}})(?!\d)"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:\s?[AaPp]\.?[Mm]\b\.?)?Z?"
_WHEN = rf"(?:(?:{_DAY}|[Yy]esterday|[Tt]oday)(?:[ T,]|\sat\s)*(?:\([A-Z][a-z]+\)\s*)?)?{_CLOCK}|{_DAY}"
_STAMP = rf"[\[(]?(?P<when>{_WHEN})[\])]?"
_WORD = r"[^\W_][\w.'’-]{0,24}"
_NAMED = rf"@?(?P<name>[^\W\d_][\w.'’-]{{0,24}}(?: {_WORD}){{0,2}}|\+\d[\d ()-]{{6,18}}\d)"
_SPOKEN = re.compile(
    rf"^[ \t>*-]*(?:{_STAMP}(?:[ \t]*[,–-])?[ \t]*)?\*{{0,2}}{_NAMED}\*{{0,2}}(?:[ \t]*\(?(?P<after>{_WHEN})\)?)?\*{{0,2}}:\*{{0,2}}[ \t]+(?=\S)",
    re.MULTILINE,
)
_ANGLED = re.compile(rf"^[ \t]*(?:{_STAMP}[ \t]*)?<{_NAMED}>[ \t]+(?=\S)", re.MULTILINE)
_ABOVE = re.compile(
    rf"^[ \t]*\*{{0,2}}{_NAMED}\*{{0,2}}(?:[ \t]|,|–|—|-|\*\*)+{_STAMP}\*{{0,2}}:?[ \t]*$", re.MULTILINE
)
_BEHIND = re.compile(rf"^[ \t]*[\[(](?P<when>{_WHEN})[\])][ \t]+{_NAMED}[ \t]*$", re.MULTILINE)
_NOTICE = re.compile(rf"^[ \t]*{_STAMP}[ \t]+[-–][ \t]+(?=[^:\n]*$)", re.MULTILINE)
"""Matches a line written by the program itself: somebody joins, a name is changed."""
_MARKS_OF_HEADS = re.compile(r"[\d:>]")
"""No head is without a time, or a colon or an angle after a name."""
_DATED = re.compile(_DAY)
_LABELS = frozenset(
    "answer caution default example hint important info note q question result see summary tip todo type warning a".split()
)
USERS = frozenset({"user", "human", "me", "you", "prompt"})
ASSISTANTS = frozenset({"assistant", "ai", "bot", "chatgpt", "claude", "copilot", "gemini", "gpt", "gpt-4", "model"})
_ALONE = frozenset({"User", "Assistant", "Human", "ChatGPT"})
"""Names that prove a chat if they repeat, even if the other side is missing."""
LEAST, MOST_LINES = 3, 3
"""The minimum lines with a speaker in a chat, and the maximum lines of text per such line."""
LONGEST_HEADING = 80


@dataclass(frozen=True, slots=True)
class Head:
    """The text before a message: its speaker and time. A notice of the program has no name."""

    start: int
    end: int
    name: str
    when: str


@lru_cache(maxsize=256)
def heads_in(text: str) -> tuple[Head, ...]:
    """Return the possible heads of messages in a text, in order."""
    found: dict[int, Head] = {}
    for pattern in (_NOTICE, _SPOKEN, _ANGLED, _ABOVE, _BEHIND):
        for match in pattern.finditer(text):
            named = match.groupdict()
            when = named.get("when") or named.get("after") or ""
            found[match.start()] = Head(match.start(), match.end(), (named.get("name") or "").strip(), when)
    return tuple(found[start] for start in sorted(found))


def is_chat_line(line: str) -> bool:
    """Return whether a line begins a message with its time, or one of an assistant or its user."""
    if _MARKS_OF_HEADS.search(line) is None:  # most lines, and looking for heads takes longer
        return False
    return any(head.when or _role(head.name) for head in heads_in(line.strip()))


def speakers_in(texts: Sequence[str]) -> frozenset[str]:
    """Return the speakers in the texts of one document; none if it is no chat."""
    heads = [head for text in texts for head in heads_in(text) if head.name and head.name.lower() not in _LABELS]
    names = Counter(head.name for head in heads)
    roles = frozenset(name for name in names if _role(name))
    if len({name.lower() in USERS for name in roles}) > 1 or any(names[name] > 1 for name in roles & _ALONE):
        return roles
    if len(names) < 2:
        return frozenset()
    if sum(bool(head.when) for head in heads) * 2 > len(heads):
        return frozenset(names)
    # Speakers repeat; labels of a list do not, and most paragraphs of prose have none.
    lines = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    names = Counter({name: count for name, count in names.items() if not name.islower()})  # setting keys are lowercase
    chats = (
        len(names) > 1 and names.total() >= LEAST and len(names) < names.total() and lines <= MOST_LINES * names.total()
    )
    return frozenset(names) if chats else frozenset()


def _role(name: str) -> bool:
    return name.lower() in USERS or name.lower() in ASSISTANTS


def _heads_of(text: str, speakers: frozenset[str]) -> list[Head]:
    """Return the heads of these speakers and of the program."""
    return [head for head in heads_in(text) if head.name in speakers or not head.name]


def turn_spans(text: str, speakers: frozenset[str]) -> list[tuple[int, int]]:
    """Return the spans of a chat's turns, without heads; the text before the first head is also one."""
    heads = _heads_of(text, speakers)
    starts, ends = [0, *(head.end for head in heads)], [*(head.start for head in heads), len(text)]
    spans = []
    for start, end in zip(starts, ends, strict=True):
        piece = text[start:end]
        if piece.strip():
            spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
    return spans


def head_of(text: str, at: int, speakers: frozenset[str]) -> Head | None:
    """Return the head of the message that contains the sentence at `at`."""
    before = [head for head in _heads_of(text, speakers) if head.start <= at] if speakers else []
    return before[-1] if before and before[-1].name else None


def day_above(text: str, at: int) -> str:
    """Return the last day written above a position, in the head of a message or on a separate line."""
    found = ""
    for line in text[:at].splitlines():
        head = next(iter(heads_in(line)), None)
        stamp = head.when if head else line if _is_heading(line) else ""
        if day := _DATED.search(stamp):
            found = day[0]
    return found


def _is_heading(line: str) -> bool:
    """Return whether a line may be the heading of a session: short, and no sentence."""
    return len(line) <= LONGEST_HEADING and not line.rstrip().endswith((".", "?", "!", ","))
