"""HTML → parts: the text a reader sees, with headings, lists, code and tables. Nothing is fetched or run."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from footnotes.errors import EmptyDocument
from footnotes.parse import Source
from footnotes.parse.builder import Builder
from footnotes.parse.decode import Encoding, characters, detect_encoding
from footnotes.parse.outline import clean_title
from footnotes.types import BlockKind, JsonValue, Part, Report

_UNSEEN = frozenset(["script", "style", "noscript", "template", "svg", "math", "iframe", "object", "head", "select"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BREAKS = frozenset(
    """
    p div section article main header footer nav aside figure figcaption address form fieldset dl dt dd hr body
    details summary center caption
    """.split()  # noqa: SIM905
)
_VOID = frozenset(["br", "hr", "img", "input", "meta", "link", "base", "area", "col", "wbr", "embed", "source"])
_LONG_LIST = 20_000
_HIDDEN = re.compile(r"(?i)display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])")
_CHARSET = re.compile(rb"""(?i)<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""")
_NAMED_METADATA = {
    "author": "author",
    "description": "description",
    "keywords": "keywords",
    "date": "created",
    "dcterms.created": "created",
    "article:published_time": "created",
    "article:modified_time": "modified",
}


class HtmlParser:
    """Reads HTML as a stream of tags, so nesting and size have no limit."""

    name: ClassVar[str] = "html"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = ("text/html", "application/xhtml+xml")
    suffixes: ClassVar[Mapping[str, str]] = dict.fromkeys((".html", ".htm", ".xhtml"), "text/html")
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = html_encoding(source.path)
        builder = Builder()
        reader = HtmlReader(builder)
        yield from read_html(characters(source.path, encoding), reader)
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} shows no text")
        title = reader.page_title or builder.title
        warnings = (*encoding.warnings, *reader.warnings)
        yield Report(self.name, source.mime, builder.position, title=title, metadata=reader.metadata, warnings=warnings)


def html_encoding(path: Path) -> Encoding:
    """Use UTF-8 if the bytes are valid, else the encoding that the page declares."""
    encoding = detect_encoding(path)
    if encoding.codec.startswith("utf"):
        return encoding
    with path.open("rb") as file:
        stated = _CHARSET.search(file.read(4096))
    if stated is not None:
        try:
            return Encoding(codecs.lookup(stated[1].decode("ascii")).name)
        except (LookupError, UnicodeDecodeError):
            pass
    return encoding


def read_html(pieces: Iterator[str], reader: HtmlReader) -> Iterator[Part]:
    """Feed a page to a reader; parts come out as they fill."""
    from lxml import etree

    parser = etree.HTMLParser(target=reader, encoding="utf-8", huge_tree=True)
    fed = False
    for piece in pieces:
        if piece:
            parser.feed(piece.encode("utf-8", "replace"))
            fed = True
            yield from reader.builder.full()
    if fed:
        try:
            parser.close()
        except etree.ParserError:  # nothing but white space
            return
        reader.flush()


class HtmlReader:
    """Receives tags and text, and adds them to a builder as blocks."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.metadata: dict[str, JsonValue] = {}
        self.page_title: str | None = None
        self.warnings: list[str] = []
        self._text: list[str | None] = []
        """Text pieces; None at the end of a line."""
        self._length = 0
        self._kind: BlockKind = "paragraph"
        self._level = 0
        self._unseen: list[str] = []
        self._hidden = 0
        self._in_title = False
        self._list_depth = 0
        self._preformatted = 0
        self._rows: list[list[str]] = []
        self._tables = 0
        self._cell: list[str] | None = None

    # ── what lxml calls

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._unseen:
            if tag not in _VOID:
                self._unseen.append(tag)
            self._head(tag, attributes)
            return
        if tag in _UNSEEN or self._is_hidden(attributes):
            if tag not in _VOID:
                self._unseen.append(tag)
            return
        self._open(tag, attributes)

    def end(self, tag: str) -> None:
        if self._unseen:
            if tag == "title" and self._in_title:
                self._in_title = False
                self.page_title = clean_title("".join(filter(None, self._text))) or None
                self.builder.stated = self.builder.stated or self.page_title
                self._text = []
            if tag in self._unseen:
                while self._unseen and self._unseen.pop() != tag:
                    pass
            return
        self._close(tag)

    def data(self, text: str) -> None:
        if not self._unseen or self._in_title:
            if self._cell is not None:
                self._cell.append(text)
            else:
                self._text.append(text)
                self._length += len(text)

    def comment(self, text: str) -> None:
        """Comments are not seen."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Nor are instructions to programs."""

    def close(self) -> None:
        self.flush()

    # ── what tags mean

    def _head(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "title" and self._unseen[:1] == ["head"] and self.page_title is None:
            self._in_title = True
        elif tag == "meta":
            name = (attributes.get("name") or attributes.get("property") or "").lower()
            value = " ".join((attributes.get("content") or "").split())[:1000]
            if name in _NAMED_METADATA and value:
                self.metadata.setdefault(_NAMED_METADATA[name], value)

    def _is_hidden(self, attributes: Mapping[str, str]) -> bool:
        if not attributes:
            return False
        hidden = "hidden" in attributes or bool(_HIDDEN.search(attributes.get("style", "")))
        if hidden and not self._hidden:
            self.warnings.append("hidden text was left out")
        self._hidden += hidden
        return hidden

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._tables:
            self._open_in_table(tag)
        elif tag in _HEADINGS:
            self.flush()
            self._kind, self._level = "heading", _HEADINGS[tag]
        elif tag in ("ul", "ol"):
            if not self._list_depth:
                self.flush()
            self._list_depth += 1
            self._kind = "list"
        elif tag == "li":
            if self._length > _LONG_LIST:
                self.flush()
            self._kind = "list" if self._list_depth else "paragraph"
            self._text += (None, "- ")
        elif tag in ("pre", "listing"):
            self.flush()
            self._preformatted += 1
            self._kind = "code"
        elif tag == "blockquote":
            self.flush()
            self._kind = "quote"
        elif tag == "table":
            self.flush()
            self._tables = 1
        elif tag == "br":
            self._text.append("\n" if self._preformatted else None)
        elif tag in _BREAKS and not self._list_depth:
            self._break()

    def _open_in_table(self, tag: str) -> None:
        if tag == "table":
            self._tables += 1
        elif tag == "tr" and self._tables == 1:
            self._rows.append([])
        elif tag in ("td", "th") and self._tables == 1:
            self._end_cell()
            self._cell = []
        elif self._cell is not None and (tag in _BREAKS or tag in ("br", "li", "tr", "td", "th")):
            self._cell.append(" ")

    def _close(self, tag: str) -> None:
        if self._tables:
            self._close_in_table(tag)
        elif tag in _HEADINGS or tag == "blockquote":
            self.flush()
        elif tag in ("pre", "listing"):
            self.flush()
            self._preformatted = max(0, self._preformatted - 1)
        elif tag in ("ul", "ol"):
            self._list_depth = max(0, self._list_depth - 1)
            if not self._list_depth:
                self.flush()
        elif tag in _BREAKS and not self._list_depth:
            self._break()

    def _close_in_table(self, tag: str) -> None:
        if tag == "table":
            self._tables -= 1
            if not self._tables:
                self._end_cell()
                rows, self._rows = self._rows, []
                # A table of one column lays out a page: its cells are paragraphs.
                if max((len(row) for row in rows), default=0) < 2:
                    for row in rows:
                        self.builder.add("paragraph", " ".join(row))
                else:
                    self.builder.add_table(rows)
        elif tag in ("td", "th") and self._tables == 1:
            self._end_cell()

    def _end_cell(self) -> None:
        if self._cell is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(" ".join("".join(self._cell).split()))
        self._cell = None

    def _break(self) -> None:
        """Begin a new paragraph, unless a heading, quote or code block is open."""
        if not self._text:
            return
        if self._kind == "paragraph":
            self.flush()
        elif self._kind == "quote":
            self._text.append(None)

    def flush(self) -> None:
        """Add the collected text as a block."""
        found, kind, level = self._text, self._kind, self._level
        self._text, self._kind, self._level, self._length = [], "paragraph", 0, 0
        if kind == "heading":
            self.builder.heading(level, "".join(piece or " " for piece in found))
        elif kind == "code" or self._preformatted:
            self.builder.add("code", "".join(piece or "\n" for piece in found).strip("\n"))
        else:
            self.builder.add(kind, "\n".join(_lines(found)))


def _lines(found: list[str | None]) -> Iterator[str]:
    """Return lines as a browser shows them, with white space folded and without blank lines."""
    line: list[str] = []
    for piece in [*found, None]:
        if piece is not None:
            line.append(piece)
        elif text := " ".join("".join(line).split()):
            yield text
            line = []
        else:
            line = []
