"""Google: `takeout:takeout.zip`, an export of Takeout: mail, notes of Keep, and the files of Drive."""

from __future__ import annotations

import email
import email.policy
import json
import mailbox
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from footnotes.ingest.sources import Address, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_text
from footnotes.ingest.sources.mail import message_files, message_id
from footnotes.ingest.sources.tree import ExportSource, File
from footnotes.parse.mail import header
from footnotes.store.naming import name_of
from footnotes.types import JsonValue


class TakeoutSource(ExportSource):
    """Messages, notes and documents of an export. Skips pictures, locations and settings."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._folder = address.folder()
        self._messages: dict[str, tuple[mailbox.mbox, str]] = {}
        self._boxes: list[mailbox.mbox] = []
        self._names: dict[str, str] = {}

    def entries(self) -> Iterator[Entry | LeftOut]:
        for file in self.tree.files():
            below = file.name.removeprefix("Takeout/")
            part, _, rest = below.partition("/")
            if file.name.endswith(".mbox"):
                yield from self._mail(file)
            elif part == "Keep" and below.endswith(".json"):
                self._names[below] = file.name
                yield Entry(below, file.stamp, file.size, {"service": "Keep"})
            elif part == "Drive" and not below.endswith("-info.json"):
                self._names[below] = file.name
                yield Entry(below, file.stamp, file.size, {"service": "Drive", "path": rest})

    def _mail(self, file: File) -> Iterator[Entry]:
        path = self.tree.write(file.name, self._folder / digest(file.name), self.limit * 1000)
        box = mailbox.mbox(path, create=False)
        self._boxes.append(box)
        for number in box.keys():  # noqa: SIM118
            raw = box.get_bytes(number)
            message = email.message_from_bytes(raw, policy=email.policy.compat32)
            key = f"Mail/{digest(message_id(message) or repr(raw))}.eml"
            if key in self._messages:
                continue
            self._messages[key] = (box, number)
            labels = header(message, "X-Gmail-Labels")
            metadata: dict[str, JsonValue] = {"service": "Mail"}
            if labels:
                metadata["labels"] = [each.strip() for each in labels.split(",")]
            yield Entry(key, digest(repr(raw)), len(raw), metadata)

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        if entry.key in self._messages:
            box, number = self._messages[entry.key]
            yield from message_files(box.get_bytes(number), folder, name_of(entry.key), self.limit, entry.metadata)
        elif entry.key.startswith("Keep/"):
            yield from _note(json.loads(self.tree.text(self._names[entry.key])), entry, folder)
        else:
            path = self.tree.write(self._names[entry.key], folder / "file", self.limit)
            yield Content(path, name_of(entry.key))

    def close(self) -> None:
        for box in self._boxes:
            box.close()
        super().close()


def _note(note: dict[str, Any], entry: Entry, folder: Path) -> Iterator[Content]:
    """Write a note of Keep: title, text and list. Raises `FileNotFoundError` for notes in the trash."""
    if note.get("isTrashed"):
        raise FileNotFoundError(entry.key)
    title = str(note.get("title") or PurePosixPath(entry.key).stem)
    items = [
        f"- [{'x' if each.get('isChecked') else ' '}] {each.get('text', '')}" for each in note.get("listContent") or ()
    ]
    text = "\n\n".join(part for part in (f"# {title}", str(note.get("textContent") or ""), "\n".join(items)) if part)
    labels = [str(each.get("name")) for each in note.get("labels") or ()]
    yield Content(
        write_text(text + "\n", folder / "note"), f"{title[:100]}.md", metadata={"labels": [*labels]} if labels else {}
    )
