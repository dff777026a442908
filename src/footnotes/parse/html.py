"""Parses HTML: the text a reader sees, with headings, lists, code and tables. Nothing is fetched or run.

Menus, tables of contents and lists of links around a page are skipped, unless the page has nothing else.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
_LISTS = frozenset(["ul", "ol", "dl"])
_BOLD = frozenset(["b", "strong"])
_NAVIGATION = re.compile(
    r"(?i)(?:^|\s)(?:[a-z]*nav(?:bar|igation|header|footer)?|breadcrumbs?|toc|table-of-contents|pagination|pager)(?=\s|\Z)"
)
"""Matches the class or id of an element for navigation."""
_LINKED = 0.9
"""The share of characters inside links from which a block counts as navigation."""
_BOLD_QUESTION = 160
"""The maximum characters of a bold question that is the heading of its answer."""
_LONGEST_ENTRY = 600
"""Characters of a list after which its next term begins a new block."""
_LONGEST_CODE = 20_000
"""A longer preformatted text is a text, not an example."""
_INDENT, _DEEPEST = "  ", 4
_PERMALINK = "¶🔗"
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
    version: ClassVar[int] = 2
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


@dataclass(frozen=True, slots=True)
class _Line:
    """The beginning of a line, with the text before its own: the indent and mark of an item."""

    prefix: str = ""


@dataclass(slots=True)
class _List:
    """A list that is open: its tag, the lists around it, its last item, and whether a term waits for what it means.

    If terms are questions, each is a heading, and its answer is no item.
    """

    tag: str
    outer: int = 0
    number: int = 0
    has_term: bool = False
    is_asked: bool = False

    @property
    def depth(self) -> int:
        """How many lists indent what stands in it."""
        return self.outer + (not self.is_asked)


class HtmlReader:
    """Receives tags and text, and adds them to a builder as blocks."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.metadata: dict[str, JsonValue] = {}
        self.page_title: str | None = None
        self.warnings: list[str] = []
        self._text: list[str | _Line] = []
        """Text pieces, and where lines begin."""
        self._said = ""
        """The last piece of text that is more than white space, in the item that is open."""
        self._is_begun = False
        """Whether a line has been begun that has no text of its own yet."""
        self._length = self._linked = self._inside = self._bolded = 0
        self._link, self._bold = "", 0
        self._navigation = 0
        """How many elements are open inside one that is for navigation, with it."""
        self._left_out: list[tuple[BlockKind, str]] = []
        """Blocks for navigation, used if the page has nothing else."""
        self._held: list[tuple[BlockKind, str]] = []
        """Blocks of links that belong to the page if more of it follows."""
        self._is_headed = False
        """Whether the last block was a heading: links alone below it are what it is the heading of."""
        self._kind: BlockKind = "paragraph"
        self._level = 0
        self._unseen: list[str] = []
        self._hidden = 0
        self._in_title = False
        self._lists: list[_List] = []
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
        self._enter(tag, attributes)
        self._open(tag, attributes)

    def end(self, tag: str) -> None:
        if self._unseen:
            if tag == "title" and self._in_title:
                self._in_title = False
                self.page_title = clean_title("".join(piece for piece in self._text if isinstance(piece, str))) or None
                self.builder.stated = self.builder.stated or self.page_title
                self._text = []
            if tag not in _VOID:
                self._unseen.pop()
            return
        self._close(tag)
        self._leave(tag)

    def data(self, text: str) -> None:
        if not self._unseen or self._in_title:
            if self._cell is not None:
                self._cell.append(text)
            else:
                self._text.append(text)
                if not self._in_title and not text.isspace():
                    self._said, self._is_begun = text, False
                    self._measure(len("".join(text.split())))

    def comment(self, text: str) -> None:
        """Ignore a comment."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Ignore a processing instruction."""

    def close(self) -> None:
        self.flush()
        if not self.builder.position:
            for kind, text in (*self._left_out, *self._held):
                self.builder.add(kind, text)
        elif self._is_headed:
            self._release()
        self._held = []

    # ── what is for navigation, and what is bold

    def _enter(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._navigation:
            self._navigation += tag not in _VOID
        elif tag not in _VOID and _is_navigation(tag, attributes) and not self._tables and not self._preformatted:
            self.flush()
            self._navigation = 1
        if tag == "a":
            self._link = attributes.get("href", "")
        self._bold += tag in _BOLD

    def _leave(self, tag: str) -> None:
        if tag == "a":
            self._link = ""
        if tag in _BOLD:
            self._bold = max(0, self._bold - 1)
        if self._navigation and tag not in _VOID:
            if self._navigation == 1:
                self.flush()
            self._navigation -= 1

    def _measure(self, characters: int) -> None:
        self._length += characters
        self._linked += characters if self._link else 0
        self._inside += characters if self._link.startswith("#") else 0
        self._bolded += characters if self._bold else 0

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
        elif tag in _LISTS:
            if not self._lists:
                self.flush()
            self._lists.append(_List(tag, self._lists[-1].depth if self._lists else 0))
            self._kind = "list"
        elif tag in ("li", "dt", "dd"):
            self._begin_item(tag)
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
            if self._preformatted:
                self._text.append("\n")
            else:
                self._begin_line(self._indent())
        elif tag in _BREAKS:
            self._break()

    def _begin_item(self, tag: str) -> None:
        """Begin an item, a term, or a definition, which follows its term on the same line."""
        inside = self._lists[-1] if self._lists else None
        if inside is None:
            self._break()
            return
        if tag == "dd" and inside.has_term:
            inside.has_term = False
            self._end_term(inside)
            return
        if tag == "dt" and inside.has_term:
            if self._said:
                self._join(", ")
            return
        if self._length > _LONGEST_ENTRY if tag == "dt" else self._length > _LONG_LIST:
            self.flush()
        self._kind = "list"
        inside.has_term, inside.number = tag == "dt", inside.number + 1
        mark = f"{inside.number}. " if inside.tag == "ol" else "- "
        self._begin_line(self._indent(-1) + (mark if tag != "dd" else ""))
        self._said = ""

    def _end_term(self, inside: _List) -> None:
        inside.is_asked = self._said.rstrip().endswith("?")
        if not inside.is_asked:
            self._kind = "list"
            self._join(": ")
            return
        begins = max((number for number, piece in enumerate(self._text) if isinstance(piece, _Line)), default=-1)
        question, self._text = self._text[begins + 1 :], self._text[: max(begins, 0)]
        self.flush()
        self._heading(_HEADINGS["h6"], "".join(piece for piece in question if isinstance(piece, str)))

    def _join(self, mark: str) -> None:
        """Continue the current line, after a mark."""
        while self._text and isinstance(self._text[-1], _Line | str):
            last = self._text.pop()
            if isinstance(last, str) and (kept := _without_permalink(last).rstrip(" \t\n:,")):
                self._text.append(kept)
                break
            if isinstance(last, _Line) and last.prefix.strip():
                self._text.append(last)
                break
        self._text.append(mark)
        self._said, self._is_begun = "", True

    def _begin_line(self, prefix: str) -> None:
        self._text.append(_Line(prefix))
        self._is_begun = True

    def _indent(self, further: int = 0) -> str:
        """The indent of a line in the lists that are open."""
        depth = (self._lists[-1].depth if self._lists else 0) + further
        return _INDENT * max(0, min(depth, _DEEPEST))

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
        elif tag in _LISTS:
            if self._lists:
                self._lists.pop()
            if not self._lists:
                self.flush()
        elif tag in _BREAKS and tag not in ("dt", "dd"):
            self._break()

    def _close_in_table(self, tag: str) -> None:
        if tag == "table":
            self._tables -= 1
            if not self._tables:
                self._end_cell()
                rows, self._rows = self._rows, []
                self._is_headed = False
                # A table of one column or one row lays out a page: its cells are paragraphs.
                if len(rows) < 2 or max((len(row) for row in rows), default=0) < 2:
                    for cell in (cell for row in rows for cell in row):
                        self.builder.add("paragraph", cell)
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
        """Begin a new paragraph, or a new line of an item or quote, unless a heading or code block is open."""
        if not self._length:
            return
        if self._kind == "paragraph":
            self.flush()
        elif self._kind in ("quote", "list") and not self._is_begun:
            self._begin_line(self._indent())

    def flush(self) -> None:
        """Add the collected text as a block."""
        found, kind, level = self._text, self._kind, self._level
        whole = _LINKED * max(1, self._length)
        linked, bolded, contents = self._linked >= whole, self._bolded >= whole, self._inside >= whole
        self._text, self._kind, self._level = [], "paragraph", 0
        self._said, self._is_begun = "", False
        self._length = self._linked = self._inside = self._bolded = 0
        if kind == "code" or self._preformatted:
            self._add("code", _fenced("".join(piece if isinstance(piece, str) else "\n" for piece in found)))
            return
        text = "\n".join(_lines(found))
        if kind == "heading":
            self._heading(level, text)
        elif text.strip():
            asks = bolded and kind == "paragraph" and text.endswith("?") and not self._navigation
            if asks and len(text) <= _BOLD_QUESTION and "\n" not in text:
                self._heading(_HEADINGS["h6"], text)
            elif kind == "list" and contents:
                self._left_out.append((kind, text))  # a list of the contents below it
            else:
                # A link that shows its address is there to be read.
                self._add(kind, text, linked=linked and kind in ("paragraph", "list") and "://" not in text)

    def _heading(self, level: int, text: str) -> None:
        if not self._navigation:
            self._release()
            self.builder.heading(level, _without_permalink(" ".join(text.split())))
            self._is_headed = True

    def _add(self, kind: BlockKind, text: str, *, linked: bool = False) -> None:
        """Add a block, unless it is for navigation; one of links is held until more of the page follows."""
        if self._navigation or (linked and not self.builder.outline.path):
            self._left_out.append((kind, text))
        elif linked:
            self._held.append((kind, text))
        elif text.strip():
            self._release()
            self._is_headed = False
            indent = self._indent()
            if kind == "code":
                text = text.replace("\n", f"\n{indent}")
            elif kind == "list":
                indent = " " * (len(text) - len(text.lstrip()))
            self.builder.add(kind, text, gap=f"\n\n{indent}")

    def _release(self) -> None:
        """Add the held blocks of links."""
        held, self._held = self._held, []
        for kind, text in held:
            self.builder.add(kind, text)


def _is_navigation(tag: str, attributes: Mapping[str, str]) -> bool:
    named = f"{attributes.get('class', '')} {attributes.get('id', '')}" if attributes else ""
    return tag == "nav" or (
        tag not in ("body", "html", "main", "article")
        and (attributes.get("role") == "navigation" or _NAVIGATION.search(named) is not None)
    )


def _without_permalink(text: str) -> str:
    """Text without the sign at its end that links to itself."""
    whole = text.rstrip()
    bare = whole.rstrip(_PERMALINK)
    return bare.rstrip() if bare != whole else text


def _fenced(code: str) -> str:
    """Put code between two fences, as in Markdown; leave a long text unchanged."""
    code = code.strip("\n").rstrip()
    if not code.strip() or len(code) > _LONGEST_CODE:
        return code
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code}\n{fence}"


def _lines(found: list[str | _Line]) -> Iterator[str]:
    """Return lines as a browser shows them, with white space folded and without blank lines."""
    prefix, line = "", list[str]()
    for piece in [*found, _Line()]:
        if isinstance(piece, str):
            line.append(piece)
            continue
        if text := " ".join("".join(line).split()):
            yield prefix + _without_permalink(text)
            prefix = ""
        line = []
        prefix = piece.prefix if piece.prefix.strip() or not prefix.strip() else prefix
