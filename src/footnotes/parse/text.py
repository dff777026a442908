"""Parses plain text. Headings are guessed: a line in capitals, a `#` line, a short line before longer text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from footnotes.errors import EmptyDocument
from footnotes.parse import Source
from footnotes.parse.decode import Encoding, characters, detect_encoding
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.parts import runs
from footnotes.text.turns import is_chat_line
from footnotes.types import Block, BlockKind, Part, Report

_HASHES = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"(=|-|~|\^){3,}+\Z")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?[ \t]+\S")
_ITEM = re.compile(r"(?:[-*+•‣◦▪·]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]+\S")
_TABULAR = re.compile(r"\t|\||   ")
_CODE_MARKS = re.compile(r"[{};=<>]|\w\(")
_CAPITALS_LEVEL, _SHORT_LEVEL = 1, 2
_LONGEST_CAPITALS, _LONGEST_SHORT, _SHORT_WORDS = 100, 60, 10
_ENDS_OF_PROSE = tuple(".,;:!?…。！？、—–-")


class Line(NamedTuple):
    """A line that is not blank: its offset, and its text without surrounding white space."""

    start: int
    raw: str

    @property
    def text(self) -> str:
        return self.raw.strip()


class TextParser:
    """Reads text in UTF-8, UTF-16, UTF-32, Windows-1252 or Latin-1, of any size, in little memory."""

    name: ClassVar[str] = "text"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = ("text/plain",)
    suffixes: ClassVar[Mapping[str, str]] = {".txt": "text/plain", ".text": "text/plain", ".log": "text/plain"}
    isolated: ClassVar[bool] = False

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.readable)
        outline = Outline()
        position, title, seen = 0, None, False
        for text in runs(characters(source.readable, encoding)):
            blocks = text_blocks(text, position, outline)
            if blocks and not seen:
                seen = True
                title = _title(blocks[0])
            yield Part(position, text, tuple(blocks))
            position += len(text)
        if not seen:
            raise EmptyDocument(f"{source.filename} has no text")
        yield text_report(self.name, source.mime, position, title, encoding)


def text_report(parser: str, mime: str, length: int, title: str | None, encoding: Encoding) -> Report:
    """Build the report of a parser that read a text file."""
    metadata = {"encoding": encoding.codec}
    return Report(parser, mime, length, title=title, metadata=metadata, warnings=encoding.warnings)


def _title(first: Block) -> str | None:
    return first.headings[-1] if first.kind == "heading" else None


def text_blocks(text: str, offset: int, outline: Outline) -> list[Block]:
    """Split plain text, which begins at `offset` of the canonical text, into blocks."""
    blocks: list[Block] = []
    groups = paragraphs(text)
    for index, lines in enumerate(groups):
        following = groups[index + 1][0].text if index + 1 < len(groups) else ""
        blocks.extend(_paragraph_blocks(lines, following, offset, outline))
    return blocks


def paragraphs(text: str) -> list[list[Line]]:
    """Group lines between blank lines."""
    found: list[list[Line]] = []
    current: list[Line] = []
    position = 0
    for raw in text.split("\n"):
        if raw and not raw.isspace():
            current.append(Line(position, raw))
        elif current:
            found.append(current)
            current = []
        position += len(raw) + 1
    if current:
        found.append(current)
    return found


def _paragraph_blocks(lines: list[Line], following: str, offset: int, outline: Outline) -> Iterator[Block]:
    """Split headings from the beginning of a paragraph."""
    first = 0
    while first < len(lines):
        after = lines[first + 1].text if first + 1 < len(lines) else following
        level, title = heading_of(lines[first].text, after)
        if not level:
            break
        last = first
        if first + 1 < len(lines) and _UNDERLINE.match(after):
            last += 1
        path = outline.enter(level, title)
        yield _block("heading", lines[first : last + 1], offset, path, level)
        first = last + 1
    rest = lines[first:]
    split = _first_item(rest)
    for group in (rest[:split], rest[split:]):
        if group:
            yield _block(_kind(group), group, offset, outline.path)


def _first_item(lines: list[Line]) -> int:
    """Find the beginning of a list that follows its introduction without a blank line."""
    for index, line in enumerate(lines):
        if index and _ITEM.match(line.text) and not line.raw.startswith("    "):
            return index if lines[index - 1].text.endswith(":") else len(lines)
    return len(lines)


def _block(kind: BlockKind, lines: list[Line], offset: int, path: tuple[str, ...], level: int = 0) -> Block:
    first, last = lines[0], lines[-1]
    start = first.start + len(first.raw) - len(first.raw.lstrip())
    return Block(kind, offset + start, offset + last.start + len(last.raw.rstrip()), level=level, headings=path)


def _kind(lines: list[Line]) -> BlockKind:
    if _ITEM.match(lines[0].text):
        return "list"
    if len(lines) > 1 and all("\t" in line.text or line.text.count("|") > 1 for line in lines):
        return "table"
    indented = all(line.raw.startswith(("    ", "\t")) for line in lines)
    return "code" if indented and any(_CODE_MARKS.search(line.raw) for line in lines) else "paragraph"


def heading_of(line: str, following: str) -> tuple[int, str]:
    """Return level and title of a line that reads like a heading; level 0 if it does not."""
    if match := _HASHES.match(line):
        return len(match[1]), clean_title(match[2].rstrip("# "))
    if len(line) > _LONGEST_CAPITALS or not following or is_chat_line(line):
        return 0, ""
    if (match := _UNDERLINE.match(following)) and not _UNDERLINE.match(line) and len(following) * 2 >= len(line):
        return (1 if match[1] == "=" else 2), clean_title(line)
    if _in_capitals(line):
        return _CAPITALS_LEVEL, clean_title(line)
    if _short_before_longer(line, following):
        return _numbered_level(line), clean_title(line)
    return 0, ""


def _in_capitals(line: str) -> bool:
    if not line.isupper() or line.endswith((".", ",", ";")) or _TABULAR.search(line):
        return False
    letters = sum(map(str.isalpha, line))
    return letters >= 3 and letters * 2 >= len(line)


def _short_before_longer(line: str, following: str) -> bool:
    if len(line) > _LONGEST_SHORT or line.endswith(_ENDS_OF_PROSE) or _TABULAR.search(line):
        return False
    if len(following) < max(25, len(line) * 1.5) or len(line.split()) > _SHORT_WORDS:
        return False
    if _ITEM.match(following) or _TABULAR.search(following):
        return False
    return bool(_NUMBERED.match(line)) or (line[0].isalpha() and not line[0].islower())


def _numbered_level(line: str) -> int:
    match = _NUMBERED.match(line)
    return match[1].count(".") + 1 if match else _SHORT_LEVEL
