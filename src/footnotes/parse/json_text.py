"""Parses JSON and JSON Lines: one line per value, with the path to it; chats as transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from footnotes.errors import EmptyDocument, ParseError, ParseLimit
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import characters, detect_encoding
from footnotes.types import Part, Report

_DEEPEST = 100
_BLOCK_CHARACTERS = 2_000
_MESSAGE_CHARACTERS = 100_000
"""The maximum characters of a message that is kept whole."""
_CONVERSATION_LEVEL = 2
_LONGEST_KEY, _LONGEST_PATH = 500, 1_000
"""Characters of a key and of a path, which are repeated for each value, at most."""
_SCALARS = frozenset(["string", "number", "boolean"])


class JsonParser:
    """Reads JSON as a stream of events, so memory does not grow with size."""

    name: ClassVar[str] = "json"
    version: ClassVar[int] = 2
    mimes: ClassVar[tuple[str, ...]] = (types.JSON, types.JSON_LINES)
    suffixes: ClassVar[Mapping[str, str]] = {
        ".json": types.JSON,
        ".jsonl": types.JSON_LINES,
        ".ndjson": types.JSON_LINES,
    }
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        import ijson

        encoding = detect_encoding(source.readable)
        builder = Builder()
        warnings = list(encoding.warnings)
        text = _Bytes(characters(source.readable, encoding))
        records = _Records(builder, source.filename)
        try:
            for event, value in ijson.basic_parse(text, multiple_values=source.mime == types.JSON_LINES):
                records.take(event, value)
                yield from builder.full()
        except (ijson.JSONError, ValueError, ArithmeticError) as error:  # also a number with too many digits
            records.flush()
            if not builder.position:
                raise ParseError(f"{source.filename} is not valid JSON: {error}") from error
            warnings.append(f"the JSON is damaged, and what follows the damage was left out: {error}")
        records.flush()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no values")
        yield Report(self.name, source.mime, builder.position, warnings=tuple(warnings))


class _Bytes:
    """Pieces of text as a file of bytes."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size or size < 0:
            piece = next(self._pieces, None)
            if piece is None:
                size = len(self._held)
                break
            self._held += piece.encode("utf-8", "replace")
        data, self._held = self._held[:size], self._held[size:]
        return data


class _Records:
    """Writes lines `path: value`, in a block per record or per some two thousand characters of one, or per turn."""

    def __init__(self, builder: Builder, filename: str) -> None:
        self._builder = builder
        self._filename = filename
        self._entries: list[Entry] = []
        self._length = 0
        self._path: list[str] = []
        """The key of each open object or array; empty inside an array."""
        self._keys: list[str] = [""]
        self._begins: list[int] = []
        """For each of them, the number of its first entry."""
        self._messages: list[bool] = []
        """Whether each of them may be a message."""
        self._maps = 0
        self._in_chat = False

    def take(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._keys[-1] = value[:_LONGEST_KEY]
        elif event in _SCALARS:
            self._entry(value)
        elif event.startswith("start_"):
            self._maps += event == "start_map"
            self._open()
        elif event.startswith("end_"):
            self._maps -= event == "end_map"
            self._close(is_map=event == "end_map")
        # A record ends with the document, or with an item of the array if the document is one.
        ends_record = event == "end_map" and not self._maps
        if ends_record or self._length > (_MESSAGE_CHARACTERS if any(self._messages) else _BLOCK_CHARACTERS):
            self.flush()

    def _open(self) -> None:
        self._path.append(self._keys[-1])
        self._keys.append("")
        self._begins.append(len(self._entries))
        self._messages.append(False)
        if len(self._path) > _DEEPEST:
            raise ParseLimit(f"{self._filename} is nested more than {_DEEPEST} levels deep")

    def _close(self, *, is_map: bool) -> None:
        depth, begin = len(self._path), self._begins.pop()
        own = [(tuple(filter(None, keys[depth:])), value) for keys, value in self._entries[begin:]] if is_map else []
        self._path.pop()
        self._keys.pop()
        self._messages.pop()
        if turn := turn_of(own):
            del self._entries[begin:]
            self._turn(turn)

    def _turn(self, turn: Turn) -> None:
        heading, left = context_of((tuple(filter(None, keys)), value) for keys, value in self._entries)
        self._builder.heading(_CONVERSATION_LEVEL, heading)
        others = "".join(f"\n{_line(keys, value)}" for keys, value in turn.others)
        self._add(left)
        self._builder.add("paragraph", turn.text + others)
        self._in_chat = True

    def _entry(self, value: object) -> None:
        keys = (*self._path, self._keys[-1])
        shown = _format(value)
        if keys[-1] in MESSAGE_KEYS and self._messages:
            self._messages[-1] = True
        if shown.strip():
            self._entries.append((keys, shown))
            self._length += len(_line(keys, shown))

    def flush(self) -> None:
        left = context_of(self._entries)[1] if self._in_chat else self._entries
        self._add(left)
        self._in_chat = self._in_chat and any(self._path)

    def _add(self, entries: list[Entry]) -> None:
        self._builder.add("paragraph", "\n".join(_line(keys, value) for keys, value in entries))
        self._entries, self._length = [], 0
        self._begins = [0] * len(self._begins)


def _line(keys: tuple[str, ...], value: str) -> str:
    path = ".".join(filter(None, keys))[-_LONGEST_PATH:]
    return f"{path}: {value}" if path else value


def _format(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}" if abs(value.adjusted()) < 30 else str(value)
    return str(value)


# ── finds messages in JSON exports of chats: an object with a speaker and a text is one turn ──────────────────


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
