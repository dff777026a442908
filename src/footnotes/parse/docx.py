"""Parses Word documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from footnotes.errors import EmptyDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.office_metadata import core_properties
from footnotes.types import JsonValue, Part, Report

if TYPE_CHECKING:
    from docx.document import Document
    from docx.styles.style import ParagraphStyle
    from lxml.etree import _Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"(?i)heading (\d)")
_NOTES = (("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments"))
_WRAPPERS = frozenset(f"{_W}{name}" for name in ("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo"))


class DocxParser:
    """Reads paragraphs, headings, lists and tables in order, then headers and footers, notes and comments."""

    name: ClassVar[str] = "docx"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.DOCX,)
    suffixes: ClassVar[Mapping[str, str]] = dict.fromkeys((".docx", ".docm", ".dotx"), types.DOCX)
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        import docx
        from docx.opc.exceptions import OpcError

        with open_archive(source):
            pass
        try:
            document = docx.Document(str(source.path))
        except (OpcError, KeyError, ValueError) as error:
            raise ParseError(f"{source.filename} is not a Word document that can be read: {error}") from error
        reader = _Reader(document)
        metadata = core_properties(document.core_properties)
        own_title = metadata.get("title")
        reader.builder.stated = own_title if isinstance(own_title, str) else None
        yield from reader.body(document.element.body)
        reader.margins()
        yield from reader.notes()
        yield from reader.builder.finish()
        if not reader.builder.position:
            raise EmptyDocument(f"{source.filename} has no text")
        title = reader.builder.stated or reader.builder.title
        yield Report(self.name, source.mime, reader.builder.position, title=title, metadata=metadata)


class _Reader:
    """Walks the document's elements, and looks through any wrapper."""

    def __init__(self, document: Document) -> None:
        self.builder = Builder()
        self._document = document
        self._levels = {style.style_id: _level(style) for style in document.styles if style.type == 1}
        self._items: list[str] = []

    def body(self, element: _Element) -> Iterator[Part]:
        for child in element.iterchildren():
            if child.tag == f"{_W}p":
                self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._end_list()
                self.builder.add_table(_rows(child))
            elif child.tag in _WRAPPERS:
                yield from self.body(child)
            yield from self.builder.full()
        self._end_list()

    def _paragraph(self, element: _Element) -> None:
        text = _text(element)
        style = element.find(f"{_W}pPr/{_W}pStyle")
        level = self._levels.get(style.get(f"{_W}val")) if style is not None else None
        is_in_list = element.find(f"{_W}pPr/{_W}numPr") is not None
        if text.strip() and level is None and (is_in_list or self._is_list(style)):
            self._items.append("- " + " ".join(text.split()))
        else:
            self._end_list()
            if level is not None:
                self.builder.heading(level, text)
            else:
                self.builder.add("paragraph", text)
        for box in element.iter(f"{_W}txbxContent"):
            if not any(parent.tag == _FALLBACK for parent in box.iterancestors()):
                for inner in box.iter(f"{_W}p"):
                    self.builder.add("paragraph", _text(inner))

    @staticmethod
    def _is_list(style: _Element | None) -> bool:
        return style is not None and style.get(f"{_W}val", "").lower().startswith("list")

    def _end_list(self) -> None:
        items, self._items = self._items, []
        if items:
            self.builder.add("list", "\n".join(items))

    def notes(self) -> Iterator[Part]:
        """Add footnotes, endnotes and comments, each under a separate heading."""
        from lxml import etree

        for name, title in _NOTES:
            for relation in self._document.part.rels.values():
                if relation.is_external or not relation.reltype.endswith(f"/{name}"):
                    continue
                parser = etree.XMLParser(resolve_entities=False, no_network=True)
                root = etree.fromstring(relation.target_part.blob, parser)
                texts = [text for each in root.iter(f"{_W}p") if (text := _text(each).strip())]
                if texts:
                    self.builder.heading(1, title, ours=True)
                for text in texts:
                    self.builder.add("paragraph", text)
                yield from self.builder.full()

    def margins(self) -> None:
        """Add headers and footers, each once."""
        seen: set[str] = set()
        for section in self._document.sections:
            for margin in (section.header, section.footer, section.first_page_header, section.even_page_header):
                if margin.is_linked_to_previous:
                    continue
                text = "\n".join(filter(None, (_text(each).strip() for each in margin._element.iter(f"{_W}p"))))
                if text not in seen:
                    seen.add(text)
                    self.builder.add("paragraph", text, attributes=_MARGIN)


_MARGIN: dict[str, JsonValue] = {"margin": True}


def _level(style: ParagraphStyle | None) -> int | None:
    """Return the heading level of a paragraph style, by its name or that of one it is based on."""
    seen = 0
    while style is not None and seen < 10:
        name = style.name or ""
        if name.lower() == "title":
            return 1
        if match := _HEADING.match(name):
            return int(match[1])
        style, seen = style.base_style, seen + 1
    return None


def _text(paragraph: _Element) -> str:
    """Return the text of a paragraph as displayed: with insertions and formulas, without deletions and text boxes."""
    pieces: list[str] = []
    _collect(paragraph, pieces)
    return "".join(pieces)


def _collect(element: _Element, pieces: list[str]) -> None:
    for child in element.iterchildren():
        tag = child.tag
        if tag in (f"{_W}t", f"{_M}t"):
            pieces.append(child.text or "")
        elif tag in (f"{_W}tab", f"{_W}ptab"):
            pieces.append("\t")
        elif tag in (f"{_W}br", f"{_W}cr"):
            pieces.append("\n")
        elif tag == f"{_W}noBreakHyphen":
            pieces.append("-")
        elif tag not in (f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", _FALLBACK):
            _collect(child, pieces)


def _rows(table: _Element) -> Iterator[list[str]]:
    """Yield the rows of a table; tables inside its cells become part of the cell."""
    for row in table.iterchildren(f"{_W}tr", f"{_W}sdt"):
        cells = [each for each in row.iter(f"{_W}tc") if _nearest_table(each) is table]
        yield [" ".join(_text(paragraph) for paragraph in cell.iter(f"{_W}p")) for cell in cells]


def _nearest_table(cell: _Element) -> _Element | None:
    return next(cell.iterancestors(f"{_W}tbl"), None)
