"""Splits messages into files: the message itself, and each attachment as a document."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterable
from email.message import Message
from pathlib import Path

from footnotes.ingest.names import safe_filename
from footnotes.ingest.sources import Content
from footnotes.ingest.sources.files import write_blocks
from footnotes.parse.mail import header, header_name
from footnotes.types import JsonValue, Metadata

_ID = re.compile(r"<[^<>\s]{1,500}>")
_REPLY = re.compile(r"(?i)^\s*((re|fwd?|aw|wg|sv|vs|tr|rv)(\[\d+\])?\s*:\s*)+")
_MOST_ATTACHMENTS = 100


def message_id(message: Message) -> str:
    found = _ID.search(header(message, "Message-ID"))
    return found[0] if found else ""


def thread_of(message: Message) -> str:
    """Return the id of a thread's first message: every reply in the thread names it first."""
    for name in ("References", "In-Reply-To", "Message-ID"):
        if found := _ID.search(header(message, name)):
            return found[0]
    return ""


def message_metadata(message: Message) -> Metadata:
    """Return the metadata of a message: its id and its thread."""
    found: dict[str, JsonValue] = {}
    for name, value in (
        ("message_id", message_id(message)),
        ("thread", thread_of(message)),
        ("thread_subject", _REPLY.sub("", header(message, "Subject"))),
    ):
        if value:
            found[name] = value
    return found


def message_files(raw: bytes, folder: Path, name: str, limit: int, metadata: Metadata) -> Iterable[Content]:
    """Write a message without its attachments, then every attachment as a part."""
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    common = {**message_metadata(message), **metadata}
    attached = [part for part in _detach_files(message) if part.get_payload(decode=True)][:_MOST_ATTACHMENTS]
    names = _unique_names([safe_filename(header_name(part)) for part in attached])
    own: dict[str, JsonValue] = {**common, "attachments": [*names]} if names else {**common}
    body = message.as_bytes() if attached else raw
    yield Content(write_blocks([body], folder / "message", limit), name, metadata=own)
    for number, (part, filename) in enumerate(zip(attached, names, strict=True)):
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        path = write_blocks([payload], folder / f"attachment-{number}", limit)
        yield Content(path, filename, part=filename, metadata={**common, "attached_to": header(message, "Subject")})


def _detach_files(message: Message) -> list[Message]:
    """Remove the attachments from a message, and return them."""
    if not message.is_multipart() or message.get_content_type() == "message/rfc822":
        return []
    detached, remaining = list[Message](), list[Message | str]()
    for part in message.get_payload():
        if not isinstance(part, Message):
            continue
        is_file = part.get_content_disposition() == "attachment" or part.get_filename() is not None
        if is_file and not part.is_multipart():
            detached.append(part)
        else:
            detached += _detach_files(part)
            remaining.append(part)
    message.set_payload(remaining)
    return detached


def _unique_names(names: list[str]) -> list[str]:
    """Make names unique."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{seen[name]}-{name}")
    return unique
