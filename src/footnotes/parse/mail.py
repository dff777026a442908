"""Parses mail messages: sender, recipients and date, the message, and the text of attachments."""

from __future__ import annotations

import codecs
import email
import email.policy
import email.utils
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path
from typing import ClassVar

from footnotes.errors import DocumentError, EmptyDocument, FootnotesError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import characters, clean, detect_encoding
from footnotes.parse.html import HtmlReader, read_html
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.text import text_blocks
from footnotes.types import JsonValue, Part, Report

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MOST_ATTACHMENTS = 100
_DEEPEST = 3


class MailParser:
    """Reads the plain text of a message, or its HTML if it has no other, then its attachments."""

    name: ClassVar[str] = "mail"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.MAIL,)
    suffixes: ClassVar[Mapping[str, str]] = {".eml": types.MAIL}
    isolated: ClassVar[bool] = True

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth

    def parse(self, source: Source) -> Iterator[Part | Report]:
        message = _message(source.path)
        builder = Builder()
        headers = {name: text for name in _SHOWN if (text := header(message, name))}
        builder.heading(1, headers.get("Subject", ""))
        builder.add("paragraph", "\n".join(f"{name}: {text}" for name, text in headers.items() if name != "Subject"))
        _body(builder, message)
        yield from builder.full()
        attachments = list(_attachments(message))
        warnings: list[str] = []
        for name, content in attachments[:_MOST_ATTACHMENTS]:
            warnings.extend(self._attachment(builder, name, content))
            yield from builder.full()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} is an empty message")
        metadata = _metadata(headers, [name for name, _ in attachments])
        title = headers.get("Subject")
        yield Report(
            self.name,
            source.mime,
            builder.position,
            title=clean_title(title) if title else None,
            metadata=metadata,
            warnings=tuple(warnings[:50]),
        )

    def _attachment(self, builder: Builder, name: str, content: bytes) -> Iterator[str]:
        """Add the text of an attachment under its name; return the reason if it has none."""
        builder.heading(2, f"Attachment: {name}", ours=True)
        if self._depth >= _DEEPEST:
            yield f"the attachment {name} is nested too deeply"
            return
        try:
            for part in _parse_attachment(name, content, self._depth):
                _adopt(builder, part)
        except FootnotesError as error:
            yield f"the attachment {name} was not read: {error}"


def _parse_attachment(name: str, content: bytes, depth: int) -> Iterator[Part]:
    """Parse an attachment with the parser of its type, and yield its parts."""
    from footnotes.parse.catalog import parser_for
    from footnotes.parse.sniff import sniff

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attachment"
        path.write_bytes(content)
        mime = sniff(path, name).mime
        parser = MailParser(depth + 1) if mime == types.MAIL else parser_for(mime)
        try:
            for item in parser.parse(Source(path, name, mime)):
                if isinstance(item, Part):
                    yield item
        except DocumentError:
            raise
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DocumentError(f"{type(error).__name__}: {error}") from error


def _adopt(builder: Builder, part: Part) -> None:
    """Add the blocks of another document below the current heading."""
    for block in part.blocks:
        text = part.text[block.start - part.start : block.end - part.start]
        if block.kind == "heading":
            builder.heading(block.level + 2, text)
        else:
            builder.add(block.kind, text, attributes=block.attributes)


def _message(path: Path) -> Message:
    encoding = detect_encoding(path)
    if encoding.codec.startswith("utf-16"):
        return email.message_from_string("".join(characters(path, encoding)), policy=email.policy.compat32)
    with path.open("rb") as file:
        file.seek(encoding.skip)
        return email.message_from_binary_file(file, policy=email.policy.compat32)


def header(message: Message, name: str) -> str:
    """Decode a header in any encoding."""
    raw = message.get(name)
    if raw is None:
        return ""
    try:
        text = str(make_header(decode_header(raw)))
    except (ValueError, LookupError, TypeError, AttributeError):
        text = str(raw)
    return " ".join(clean(text).split())[:2000]


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts of a message that hold content; a message inside it is one of them."""
    if message.get_content_type() != "message/rfc822" and message.is_multipart():
        for part in message.get_payload():
            if isinstance(part, Message):
                yield from _leaves(part)
    else:
        yield message


def _body(builder: Builder, message: Message) -> None:
    """Add the message itself."""
    leaves = [part for part in _leaves(message) if not part.is_multipart() and not _is_attached(part)]
    plain = [part for part in leaves if part.get_content_type() == "text/plain" and _content(part).strip()]
    for part in plain:
        text = clean(_content(part)).replace("\r\n", "\n").replace("\r", "\n")
        for block in text_blocks(text, 0, Outline()):
            kind = "paragraph" if block.kind == "heading" else block.kind
            builder.add(kind, text[block.start : block.end])
    if not plain:
        for part in leaves:
            if part.get_content_type() == "text/html":
                for ready in read_html(iter((clean(_content(part)),)), HtmlReader(builder)):
                    builder.keep(ready)


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or part.get_filename() is not None


def _content(part: Message) -> str:
    """Return the text of a part, in its own charset if that is known."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = part.get_content_charset() or "utf-8"
    for codec in (charset, "utf-8", "cp1252"):
        try:
            return payload.decode(codecs.lookup(codec).name)
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
    return payload.decode("latin-1")


def _attachments(message: Message) -> Iterator[tuple[str, bytes]]:
    for part in _leaves(message):
        if part.is_multipart():
            inner = part.get_payload(0)
            if isinstance(inner, Message):
                yield f"{header(inner, 'Subject') or 'message'}.eml", inner.as_bytes()
        elif _is_attached(part):
            payload = part.get_payload(decode=True)
            name = header_name(part)
            if isinstance(payload, bytes) and payload:
                yield name, payload


def header_name(part: Message) -> str:
    """Return the name of an attachment, without any folders."""
    try:
        name = str(make_header(decode_header(part.get_filename() or "")))
    except (ValueError, LookupError, TypeError, AttributeError):
        name = part.get_filename() or ""
    name = clean(name).replace("\\", "/").rpartition("/")[2].strip()
    return " ".join(name.split())[:200] or "unnamed"


def _metadata(headers: dict[str, str], attachments: list[str]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, field in (("From", "author"), ("To", "to"), ("Cc", "cc"), ("Subject", "title")):
        if name in headers:
            found[field] = headers[name][:1000]
    with suppress(ValueError, TypeError, IndexError):
        found["created"] = email.utils.parsedate_to_datetime(headers.get("Date", "")).isoformat()
    if attachments:
        found["attachments"] = [*attachments[:_MOST_ATTACHMENTS]]
    return found
