"""Parses reStructuredText. The canonical text is the source itself, so every span is exact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from footnotes.errors import EmptyDocument
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.decode import characters, detect_encoding
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.parts import runs
from footnotes.parse.text import Line, paragraphs, text_report
from footnotes.types import Block, BlockKind, JsonValue, Part, Report

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\Z")
_ROLE = re.compile(
    r":[\w:+.-]{1,40}:`([^`<]{1,300}?)(?: <[^`]{0,300}>)?`|`{1,2}([^`<]{1,300}?)(?: <[^`]{0,300}>)?`{1,2}_{0,2}"
)
_DIRECTIVE = re.compile(r"\.\. (code|code-block|sourcecode|prompt)::[ \t]*(\S*)")
_ITEM = re.compile(r"(?:[-*+•]|\(?(?:\d{1,3}|[A-Za-z#])[.)])[ \t]+\S")
_TABLE = re.compile(r"\+[-=+]{3,}\+\Z|={2,}(?: +={2,})+\Z")


class RstParser:
    """Finds sections by their adornment, in the order of first use, as reStructuredText defines it."""

    name: ClassVar[str] = "rst"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.RST,)
    suffixes: ClassVar[Mapping[str, str]] = {".rst": types.RST}
    isolated: ClassVar[bool] = False

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.readable)
        reader = _Reader()
        position = 0
        for run in runs(characters(source.readable, encoding)):
            yield Part(position, run, tuple(reader.blocks(run, position)))
            position += len(run)
        if not reader.has_text:
            raise EmptyDocument(f"{source.filename} has no text")
        yield text_report(self.name, source.mime, position, reader.title, encoding)


class _Reader:
    """State that carries over from part to part: open sections, and the order of adornments."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.has_text = False
        self._outline = Outline()
        self._adornments: list[str] = []
        self._literal = False

    def blocks(self, text: str, offset: int) -> Iterator[Block]:
        for group in paragraphs(text):
            self.has_text = True
            rest = group
            heading = self._heading(group)
            if heading:
                level, title, count = heading
                path = self._outline.enter(level, title)
                self.title = self.title or title
                yield _block("heading", group[:count], offset, path, level)
                rest = group[count:]
            if rest:
                yield self._text_block(rest, offset)

    def _heading(self, lines: list[Line]) -> tuple[int, str, int] | None:
        """Return level, title and number of lines of the section title that begins a group of lines."""
        texts = [line.text for line in lines[:3]]
        over = len(texts) > 2 and _ADORNMENT.match(texts[0]) and _ADORNMENT.match(texts[2])
        if over and texts[0][0] == texts[2][0] and not _TABLE.match(texts[0]) and len(texts[0]) >= len(texts[1]):
            return self._level(texts[0][0] * 2), _plain(texts[1]), 3
        under = len(texts) > 1 and not _ADORNMENT.match(texts[0]) and _ADORNMENT.match(texts[1])
        if under and len(texts[1]) >= len(texts[0]) and lines[0].raw[:1].strip():
            return self._level(texts[1][0]), _plain(texts[0]), 2
        return None

    def _level(self, adornment: str) -> int:
        if adornment not in self._adornments:
            self._adornments.append(adornment)
        return self._adornments.index(adornment) + 1

    def _text_block(self, lines: list[Line], offset: int) -> Block:
        indented = all(line.raw[:1].isspace() for line in lines)
        directive = _DIRECTIVE.match(lines[0].text)
        attributes: dict[str, JsonValue] = {}
        kind: BlockKind = "paragraph"
        if directive or (self._literal and indented):
            kind = "code"
            if directive and directive[2]:
                attributes["language"] = directive[2][:40]
        elif any(_TABLE.match(line.text) for line in lines[:2]):
            kind = "table"
        elif _ITEM.match(lines[0].text):
            kind = "list"
        self._literal = bool(directive) or (kind == "code" and indented) or lines[-1].text.endswith("::")
        return _block(kind, lines, offset, self._outline.path, 0, attributes)


def _block(
    kind: BlockKind,
    lines: list[Line],
    offset: int,
    path: tuple[str, ...],
    level: int,
    attributes: dict[str, JsonValue] | None = None,
) -> Block:
    first, last = lines[0], lines[-1]
    start = first.start + len(first.raw) - len(first.raw.lstrip())
    end = last.start + len(last.raw.rstrip())
    return Block(kind, offset + start, offset + end, level=level, headings=path, attributes=attributes or {})


def _plain(title: str) -> str:
    """Remove the marks of roles, links and literals from a title."""
    return clean_title(_ROLE.sub(lambda match: match[1] or match[2], title).replace("*", ""))
