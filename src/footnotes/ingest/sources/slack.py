"""Slack: `slack:export.zip`, the export of a workspace. A day of a channel is a document, with threads together."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from footnotes.ingest.sources import Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_text
from footnotes.ingest.sources.tree import ExportSource

_DAY = re.compile(r"(?:.*/)?([^/]+)/\d{4}-\d\d-\d\d\.json")
_MENTION = re.compile(r"<([@#!])([^>|]+)(?:\|([^>]*))?>")
_LINK = re.compile(r"<(https?:[^>|]+|mailto:[^>|]+)(?:\|([^>]*))?>")
Message = dict[str, Any]
_NOISE = frozenset(["channel_join", "channel_leave", "group_join", "group_leave", "bot_add", "channel_purpose"])


class SlackSource(ExportSource):
    """Days of channels."""

    def entries(self) -> Iterator[Entry | LeftOut]:
        self._users = self._names("users.json")
        self._channels = self._names("channels.json") | self._names("groups.json")
        self._days: dict[str, str] = {}
        for channel, messages in self._messages().items():
            for day, text in self._day_texts(channel, messages).items():
                key = f"{channel}/{day}.md"
                self._days[key] = text
                yield Entry(key, digest(text), len(text), {"channel": channel, "created": day})

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        name = entry.key.replace("/", " ")
        yield Content(write_text(self._days[entry.key], folder / "day"), name)

    def _names(self, file: str) -> dict[str, str]:
        """Return the names of people or channels by their ids."""
        found = next((each.name for each in self.tree.files() if each.name.rpartition("/")[2] == file), None)
        rows = json.loads(self.tree.text(found)) if found else []
        return {row["id"]: _name(row) for row in rows if isinstance(row, dict) and "id" in row}

    def _messages(self) -> dict[str, list[Message]]:
        found: dict[str, list[Message]] = defaultdict(list)
        for file in self.tree.files():
            if match := _DAY.fullmatch(file.name):
                rows = json.loads(self.tree.text(file.name))
                found[match[1]] += [each for each in rows if isinstance(each, dict) and each.get("ts")]
        return found

    def _day_texts(self, channel: str, messages: list[Message]) -> dict[str, str]:
        """Return the text of each day of a channel. A reply follows its message, even if it is from a later day."""
        messages = [each for each in messages if each.get("subtype") not in _NOISE and _text(each)]
        answers: dict[str, list[Message]] = defaultdict(list)
        first = {each["ts"] for each in messages}
        for each in messages:
            thread = each.get("thread_ts")
            if thread and thread != each["ts"] and thread in first:
                answers[thread].append(each)
        inside = {each["ts"] for group in answers.values() for each in group}
        days: dict[str, list[str]] = defaultdict(list)
        for each in sorted(messages, key=lambda each: float(each["ts"])):
            if each["ts"] not in inside:
                lines = days[_moment(each).date().isoformat()]
                lines.append(self._line(each))
                lines += [
                    f"> {self._line(one)}" for one in sorted(answers[each["ts"]], key=lambda one: float(one["ts"]))
                ]
        return {day: f"# #{channel}, {day}\n\n" + "\n\n".join(lines) + "\n" for day, lines in days.items()}

    def _line(self, message: Message) -> str:
        who = self._users.get(message.get("user", "")) or message.get("username") or "somebody"
        text = html.unescape(_LINK.sub(lambda found: found[2] or found[1], _MENTION.sub(self._mention, _text(message))))
        return f"**{who}** {_moment(message):%H:%M}: " + " ".join(text.split("\n"))

    def _mention(self, found: re.Match[str]) -> str:
        if found[1] == "@":
            return "@" + (self._users.get(found[2]) or found[3] or "somebody")
        if found[1] == "#":
            return "#" + (found[3] or self._channels.get(found[2]) or "channel")
        return "@" + (found[3] or found[2]).partition("^")[0]


def _name(row: Message) -> str:
    profile = row.get("profile") or {}
    return str(profile.get("real_name") or row.get("real_name") or profile.get("display_name") or row.get("name") or "")


def _text(message: Message) -> str:
    files = [str(each.get("title") or each.get("name") or "") for each in message.get("files") or () if each]
    return "\n".join([str(message.get("text") or ""), *(f"[file: {name}]" for name in files if name)]).strip()


def _moment(message: Message) -> datetime:
    return datetime.fromtimestamp(float(message["ts"]), UTC)
