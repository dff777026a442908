"""Finds messages in JSON exports of chats: an object with a speaker and a text is one turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

Entry = tuple[tuple[str, ...], str]
"""The keys of a value, from the top, and the value as text."""

_SPEAKERS = ("user_profile", "author", "sender_name", "sender", "speaker", "from", "role", "username", "user")
_NAMES = ("real_name", "display_name", "displayName", "global_name", "nickname", "name", "role", *_SPEAKERS)
_TEXTS = frozenset({"text", "content", "message", "body", "value", "utterance", "parts"})
_TIMES = frozenset(
    "ts date time timestamp timestamp_ms created_at createdAt create_time createdDateTime datetime sent_at".split()  # noqa: SIM905
)
_TITLES = ("title", "name", "topic", "channel", "session", "session_id")
_OTHERWISE = frozenset({"subject", "to", "cc"})
"""Keys of a mail, which is no chat turn."""
_TECHNICAL = re.compile(
    r"(?:\w*_)?(?:id|ids|ts|type|subtype|status|weight|end_turn|recipient|team|parent|children|updated?\w*|content_type|is_\w+|edited\w*)",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?(?:\.\d+)?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)")
_LONGEST_NAME, _LONGEST_TIME = 60, 40
_SECONDS = 1e11
"""Larger times are in milliseconds."""
MESSAGE_KEYS = frozenset((*_SPEAKERS, *_TEXTS))


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as a line of a transcript, and the other values of its object."""

    text: str
    others: tuple[Entry, ...]


def turn_of(entries: Sequence[Entry]) -> Turn | None:
    """Build a turn from the values of an object; None without both a speaker and a text."""
    firsts = {keys[0] for keys, _ in entries if keys}
    if not firsts & _TEXTS or firsts & _OTHERWISE:
        return None
    name, said = _speaker(entries), " ".join(value for keys, value in entries if _is_text(keys)).strip()
    if not name or not said:
        return None
    when = _time(entries)
    known = {*_SPEAKERS, *_TIMES}
    others = tuple(
        (keys, value)
        for keys, value in entries
        if keys and keys[0] not in known and not _is_text(keys) and not _is_technical(keys, value)
    )
    return Turn(f"{name} ({when}): {said}" if when else f"{name}: {said}", others)


def context_of(entries: Iterable[Entry]) -> tuple[str, list[Entry]]:
    """Return a conversation's heading (title and date), and the other values of the object around its turns."""
    entries = [entry for entry in entries if entry[0]]
    titles = {keys[-1]: value for keys, value in reversed(entries) if keys[-1] in _TITLES}
    title = next((titles[key] for key in _TITLES if key in titles), "")
    when = next((_as_time(value) for keys, value in entries if keys[-1] in _TIMES or keys[-1].endswith("_date")), "")
    heading = f"{title} ({when})" if title and when else title or when
    left = [
        (keys, value)
        for keys, value in entries
        if keys[-1] not in (*_TITLES, *_TIMES) and not keys[-1].endswith("_date") and not _is_technical(keys, value)
    ]
    return heading, left


def _speaker(entries: Sequence[Entry]) -> str:
    named = {
        (first, last): value
        for (first, last), value in (((keys[0], keys[-1]), value) for keys, value in entries if keys)
        if first in _SPEAKERS and last in _NAMES and len(value) <= _LONGEST_NAME and re.search(r"[^\W\d_]", value)
    }
    order = [(first, last) for first in _SPEAKERS for last in _NAMES if (first, last) in named]
    name = " ".join(named[order[0]].split()) if order else ""
    return name.capitalize() if name in ("user", "assistant", "human", "system", "tool") else name


def _is_text(keys: Sequence[str]) -> bool:
    return bool(keys) and keys[0] in _TEXTS and keys[-1] in _TEXTS


def _is_technical(keys: Sequence[str], value: str) -> bool:
    return _TECHNICAL.fullmatch(keys[-1]) is not None and " " not in value.strip()


def _time(entries: Sequence[Entry]) -> str:
    return next((_as_time(value) for keys, value in entries if len(keys) == 1 and keys[0] in _TIMES), "")


def _as_time(value: str) -> str:
    """Format a moment as day and time; seconds since 1970 are read in UTC."""
    if _EPOCH.fullmatch(value):
        seconds = float(value) / (1000 if float(value) > _SECONDS else 1)
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    if found := _ISO.match(value):
        return f"{found[1]} {found[2]}"
    return value if len(value) <= _LONGEST_TIME else ""
