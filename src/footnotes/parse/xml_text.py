"""Parses XML of any vocabulary. Fetches no entity, and expands none beyond what libxml2 allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from footnotes.errors import EmptyDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import READ_BYTES
from footnotes.types import Part, Report

_TITLES = frozenset(["title", "head", "heading", "article-title"])
_INLINE = frozenset(
    "b i u em strong italic bold sub sup a link xref emphasis code tt span tspan ext-link ulink".split()  # noqa: SIM905
)
_LONG_TEXT = 80
_BLOCK_CHARACTERS = 2_000


class XmlParser:
    """Reads an element with text as a line `name: text`, a long one as a paragraph, a title as a heading."""

    name: ClassVar[str] = "xml"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.XML, "text/xml", "image/svg+xml")
    suffixes: ClassVar[Mapping[str, str]] = dict.fromkeys((".xml", ".rss", ".atom", ".svg"), types.XML)
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        from lxml import etree

        builder = Builder()
        reader = _Reader(builder)
        parser = etree.XMLParser(target=reader, resolve_entities=False, no_network=True, recover=True)
        try:
            with source.path.open("rb") as file:
                while data := file.read(READ_BYTES):
                    parser.feed(data)
                    yield from builder.full()
            parser.close()
        except etree.XMLSyntaxError as error:
            reader.flush()
            if not builder.position:
                raise ParseError(f"{source.filename} is not XML that can be read: {error.msg}") from error
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no text")
        damaged = any(entry.level_name in ("ERROR", "FATAL") for entry in parser.feed_error_log)
        warnings = ("the XML is damaged; what could be read was taken",) if damaged else ()
        yield Report(self.name, source.mime, builder.position, title=builder.title, warnings=warnings)


class _Reader:
    """Receives tags and text; lines are collected until their parent ends."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._text: list[str] = []
        self._lines: list[str] = []
        self._length = 0
        self._depth = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if _local(tag) not in _INLINE:
            self._end_text("")

    def end(self, tag: str) -> None:
        name = _local(tag)
        self._depth -= 1
        if name in _INLINE:
            return
        if not self._end_text(name) or self._length > _BLOCK_CHARACTERS:
            self.flush()

    def data(self, text: str) -> None:
        self._text.append(text)

    def comment(self, text: str) -> None:
        """Comments are not text."""

    def close(self) -> None:
        self.flush()

    def _end_text(self, name: str) -> bool:
        """Add the collected text under a name; return whether there was any."""
        text = " ".join("".join(self._text).split())
        self._text = []
        if not text:
            return False
        if name in _TITLES:
            self.flush()
            self._builder.heading(min(self._depth, 6) or 1, text)
        elif len(text) > _LONG_TEXT or not name:
            self.flush()
            self._builder.add("paragraph", text)
        else:
            self._lines.append(f"{name}: {text}")
            self._length += len(text)
        return True

    def flush(self) -> None:
        lines, self._lines, self._length = self._lines, [], 0
        self._builder.add("paragraph", "\n".join(lines))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
