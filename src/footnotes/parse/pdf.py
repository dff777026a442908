"""Parses PDF page by page: text in reading order, headings guessed from size and shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError
from footnotes.parse import PART_CHARACTERS, Source, ocr
from footnotes.parse.decode import clean
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.pdf_layout import Layout, PageBlock, lay_out
from footnotes.parse.pdf_words import page_words
from footnotes.types import Block, BlockKind, JsonValue, Part, Report

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_SAMPLED_PAGES = 12
_HEADING_GROWTH = 1.12
_LONGEST_HEADING = 160
_HEADINGS_READ, _FIRST_PAGE_READ = 8, 6_000
"""Headings that may be the title if the first ones are boilerplate; characters that may name the type of document."""
_DIGITS = re.compile(r"\d+")
_LIST_ITEM = re.compile(r"(?:[-*•‣◦▪·–■●○□➢✓]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_AMOUNT = re.compile(r"[$€£%]|\d[,.]\d|\(\d|\b(?!(?:19|20)\d\d\b)\d")
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?")
_FIELDS = {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}
_PLACEHOLDER = re.compile(r"(?i)(?:\(?(?:anonymous|untitled|unspecified|unknown)\)?|document\d*|slide \d+)\Z")
_PROGRAM = re.compile(r"Microsoft (?:Word|PowerPoint|Excel) - ")
_PASSWORD_ERROR = 4
_NO_TEXT_REMEDY = 'The pages seem to be scans: pip install "footnotes[ocr]" and add the file again, or run OCR on it.'


@dataclass(slots=True)
class Style:
    """Statistics of a document: the height of its text, and the lines that repeat at the edges of pages."""

    body: float
    repeated: frozenset[str] = frozenset()
    sizes: list[float] = field(default_factory=list)


class PdfParser:
    """Reads PDFs with pdfium. Pages are closed after use, so memory does not grow with their number."""

    name: ClassVar[str] = "pdf"
    version: ClassVar[int] = 3
    mimes: ClassVar[tuple[str, ...]] = ("application/pdf",)
    suffixes: ClassVar[Mapping[str, str]] = {".pdf": "application/pdf"}
    signatures: ClassVar[tuple[tuple[bytes, str], ...]] = ((b"%PDF-", "application/pdf"),)
    isolated: ClassVar[bool] = True

    @property
    def variant(self) -> str:
        """Part of the fingerprint: if OCR is installed, scans are worth parsing again."""
        return "ocr" if ocr.available() else ""

    @property
    def least_memory_bytes(self) -> int:
        """OCR takes more address space than a parser has otherwise."""
        return ocr.ADDRESS_SPACE if ocr.available() else 0

    def parse(self, source: Source) -> Iterator[Part | Report]:
        with open_pdf(source) as pdf:
            pages = len(pdf)
            style = _style(pdf, pages)
            metadata = _metadata(pdf)
            builder = _Builder(style, metadata.get("title"))
            recognises = ocr.available()
            for number in range(1, pages + 1):
                layout = page_layout(pdf, number)
                if recognises and layout is not None and not layout.text:
                    builder.recognised.append(number)
                    layout = page_layout(pdf, number, by=ocr.read_page)
                yield from builder.add(number, layout)
            yield from builder.finish()
            if not builder.position:
                raise EmptyDocument(
                    f"{source.filename} has no text layer on any of its pages ({pages})",
                    remedy=_NO_TEXT_REMEDY,
                )
            yield _report(self.name, source, metadata, pages, builder)


@contextmanager
def open_pdf(source: Source, password: str | None = None) -> Iterator[PdfDocument]:
    """Open a document with pdfium, and translate its errors."""
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(source.path, password=password)
    except pdfium.PdfiumError as error:
        if error.err_code == _PASSWORD_ERROR and password:
            raise EncryptedDocument(
                f"the password does not open {source.filename}",
                remedy="Check the password, including capitals, and retry.",
            ) from error
        if error.err_code == _PASSWORD_ERROR:
            raise EncryptedDocument(f"{source.filename} is protected by a password") from error
        raise ParseError(f"{source.filename} is not a PDF that can be read") from error
    try:
        if len(document) < 1:
            raise ParseError(f"{source.filename} has no pages")
        yield document
    finally:
        document.close()


def text_layer(page: PdfPage) -> Layout:
    """Compute the layout of a page from its text layer."""
    textpage = page.get_textpage()
    try:
        return lay_out(page_words(textpage))
    finally:
        textpage.close()


def page_layout(pdf: PdfDocument, number: int, by: Callable[[object], Layout] = text_layer) -> Layout | None:
    """Compute the layout of a page, counted from 1; None if the page cannot be read."""
    import pypdfium2 as pdfium

    try:
        page = pdf[number - 1]
    except pdfium.PdfiumError:
        return None
    try:
        return by(page)
    except pdfium.PdfiumError:
        return None
    finally:
        page.close()


def _style(pdf: object, pages: int) -> Style:
    """Sample some pages across the document before reading it."""
    step = max(1, pages // _SAMPLED_PAGES)
    sampled = [page_layout(pdf, number) for number in range(1, pages + 1, step)]
    layouts = [layout for layout in sampled if layout is not None]
    heights: Counter[float] = Counter()
    edges: Counter[str] = Counter()
    for layout in layouts:
        edges.update({_normal(layout.text[block.start : block.end]) for block in _edge_blocks(layout)})
        for block in layout.blocks:
            for line in block.lines:
                heights[round(line.size, 1)] += sum(len(word.text) for word in line.words)
    body = heights.most_common(1)[0][0] if heights else 0.0
    often = max(2, len(layouts) // 3)
    larger = sorted((size for size in heights if size > body * _HEADING_GROWTH), reverse=True)
    return Style(body, frozenset(text for text, count in edges.items() if count >= often), _distinct(larger))


def _distinct(sizes: list[float]) -> list[float]:
    """Sort sizes from large to small, and drop those that hardly differ from a larger one."""
    found: list[float] = []
    for size in sizes:
        if not found or size < found[-1] * 0.94:
            found.append(size)
    return found[:4]


def _edge_blocks(layout: Layout) -> list[PageBlock]:
    return layout.blocks if len(layout.blocks) < 5 else [*layout.blocks[:2], *layout.blocks[-2:]]


def _normal(text: str) -> str:
    """Remove from a line what changes from page to page."""
    return " ".join(_DIGITS.sub("#", text[:_LONGEST_HEADING]).lower().split())


class _Builder:
    """Joins pages into parts, and labels their blocks."""

    def __init__(self, style: Style, title: JsonValue = None) -> None:
        self._style = style
        self._stated = title if isinstance(title, str) else None
        self._outline = Outline()
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._start = 0
        self._header = (0, "")
        self.position = 0
        self._first_page = ""
        self._headings: list[str] = []
        self.without_text: list[int] = []
        self.unreadable: list[int] = []
        self.recognised: list[int] = []

    def add(self, number: int, layout: Layout | None) -> Iterator[Part]:
        if layout is None:
            self.unreadable.append(number)
            return
        if not layout.text:
            self.without_text.append(number)
            return
        if self.position:
            self._append("\n\n")
        if self.position - self._start >= PART_CHARACTERS:
            yield from self.finish()
        for index, block in enumerate(layout.blocks):
            following = layout.blocks[index + 1] if index + 1 < len(layout.blocks) else None
            self._blocks.append(self._label(number, layout, block, following))
        text = clean(layout.text)
        self._first_page = self._first_page or text[:_FIRST_PAGE_READ]
        self._append(text)

    @property
    def title(self) -> str | None:
        """Choose the title: from the first page, else from the file's metadata, else the first heading."""
        return filing_title(self._first_page) or self._stated or cover_title(self._headings)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self.position += len(text)

    def finish(self) -> Iterator[Part]:
        if self._pieces:
            title = None if self._start else self.title
            yield Part(self._start, "".join(self._pieces), tuple(self._blocks), title)
        self._pieces, self._blocks, self._start = [], [], self.position

    def _label(self, number: int, layout: Layout, block: PageBlock, following: PageBlock | None) -> Block:
        text = layout.text[block.start : block.end]
        start, end = self.position + block.start, self.position + block.end
        kind: BlockKind = "paragraph"
        attributes: dict[str, JsonValue] = {"ocr": True} if number in self.recognised[-1:] else {}
        level = 0
        if block.table:
            kind, attributes = "table", {**attributes, **self._table_attributes(number, text)}
        elif _LIST_ITEM.match(text):
            kind = "list"
        if kind != "table":
            level = self._heading_level(text, block, following)
        path = self._outline.path
        if level:
            kind, path = "heading", self._outline.enter(level, text)
            if len(self._headings) < _HEADINGS_READ:
                self._headings.append(clean_title(text))
        return Block(kind, start, end, number, level, path, attributes)

    def _table_attributes(self, number: int, text: str) -> dict[str, JsonValue]:
        """Return the row that names the columns: the table's first, or that of the table before it on the page."""
        first = text.partition("\n")[0]
        if _is_header(first):
            self._header = (number, first[:1000])
        page, header = self._header
        return {"header": header} if page == number else {}

    def _heading_level(self, text: str, block: PageBlock, following: PageBlock | None) -> int:
        """Return the level of a heading, 0 for anything else: larger than the body, or bold and short above text."""
        if len(text) > _LONGEST_HEADING or len(block.lines) > 3 or block.sideways or not _is_wordy(text):
            return 0
        if _normal(text) in self._style.repeated or text.endswith((",", ";")) or text.count(",") > 2 or "@" in text:
            return 0
        size = block.lines[0].size
        if size > self._style.body * _HEADING_GROWTH:
            return 1 + sum(size < larger * 0.97 for larger in self._style.sizes)
        numbered = _NUMBERED.match(text)
        stands_out = block.lines[0].bold or (text.isupper() and len(text) > 3)
        if not stands_out or text.rstrip().endswith((".", ",", ";", ":")) or following is None:
            return 0
        if following.lines[0].bold and not following.table:
            return 0
        return min(6, len(self._style.sizes) + (1 + numbered[1].count(".") if numbered else 1))


def _is_wordy(text: str) -> bool:
    """Return whether a text is mostly letters: a number or a formula in large print is not a heading."""
    letters = sum(map(str.isalpha, text))
    return letters >= 3 and letters * 2 >= len(text.replace(" ", ""))


def _is_header(row: str) -> bool:
    """Return whether a row names columns: after its first cell it has years or words, no amounts."""
    cells = row.split("\t")[1:]
    return bool(cells) and not any(_AMOUNT.search(cell) for cell in cells)


def _report(parser: str, source: Source, metadata: dict[str, JsonValue], pages: int, builder: _Builder) -> Report:
    warnings = []
    if builder.without_text:
        warnings.append(f"no text layer on {_format_list(builder.without_text)} of {pages}: scans need OCR")
    if builder.unreadable:
        warnings.append(f"could not read {_format_list(builder.unreadable)} of {pages}")
    recognised = [number for number in builder.recognised if number not in builder.without_text]
    if recognised:
        warnings.append(f"read by OCR: {_format_list(recognised)} of {pages}")
        metadata["ocr_pages"] = [*recognised[:1000]]
    return Report(
        parser,
        source.mime,
        builder.position,
        pages,
        tuple(sorted({*builder.without_text, *builder.unreadable})),
        builder.title,
        metadata,
        tuple(warnings),
    )


def _format_list(pages: list[int]) -> str:
    numbers = ", ".join(map(str, pages[:10])) + (" and more" if len(pages) > 10 else "")
    return f"page {numbers}" if len(pages) == 1 else f"pages {numbers}"


def _metadata(pdf: PdfDocument) -> dict[str, JsonValue]:
    """Return the metadata of the document."""
    found: dict[str, JsonValue] = {}
    for key, value in pdf.get_metadata_dict(skip_empty=True).items():
        text = clean(value)[:1000].strip().strip("\ufffd")
        if key == "Title" and not _is_wordy(text):
            continue  # for example the number under which it was filed
        if key in _FIELDS and text and not _PLACEHOLDER.match(text):
            found[_FIELDS[key]] = _PROGRAM.sub("", text)
        elif key in _DATES and (date := _date(text)):
            found[_DATES[key]] = date
    return found


def _date(text: str) -> str | None:
    """Convert `D:20240506071809+02'00'` to `2024-05-06T07:18:09`."""
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (each or None for each in match.groups())
    date = "-".join(each for each in (year, month, day) if each)
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}" if hour and day else date


# ── the title of a document from its first page: its distinctive heading, not the boilerplate above it ────────


_BOILERPLATE = re.compile(
    r"(?:the )?united states(?: of america)?(?: securities and exchange commission.*)?"
    r"|(?:u\.?s\.? )?securities and exchange commission.*|washington,? d\.?c\.?.*"
    r"|\(?mark one\)?|(?:table of )?contents|index|(?:strictly |private and )?confidential|execution (?:version|copy)"
    r"|(?:final |working )?draft|exhibit [\d.]+|appendix|page \d+.*|form \S+"
    r"|(?:annual|quarterly|current) report.*pursuant.*"
    r"|low|internal use only|for immediate release|copyright.*|[\W\d_]+",
    re.IGNORECASE,
)
_REGISTRANT = re.compile(
    r"([^\n]{3,100})\n[\s_—–-]*\(\s*exact name of\s+(?:the\s+)?(?:registrant|issuer)", re.IGNORECASE
)
_FORM = re.compile(r"\bform\s+(\d{1,2}-[A-Z]{1,2}(?:/A)?|[SF]-\d{1,2}|DEF 14A)\b", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?:fiscal year|quarterly period|quarter|year|period)\s+ended:?\s+([A-Z][a-z]+\s+\d{1,2},\s+\d{4})"
    r"|date of report[^:\n]{0,60}:?\s*([A-Z][a-z]+\s+\d{1,2},\s+\d{4})",
    re.IGNORECASE,
)
_LONGEST = 200


def cover_title(headings: Sequence[str]) -> str | None:
    """Return the first heading that is not boilerplate; the first one if all are."""
    return next((each for each in headings if not is_boilerplate(each)), next(iter(headings), None))


def filing_title(page: str) -> str | None:
    """Build `Apple Inc., Form 10-Q, June 25, 2022`: who reports to the exchange commission, on which form, for when."""
    registrant, form = _REGISTRANT.search(page), _FORM.search(page)
    if registrant is None or form is None:
        return None
    found = _PERIOD.search(page)
    parts = [registrant[1].strip(" _\t"), f"Form {form[1].upper()}"]
    if found is not None:
        parts.append(" ".join((found[1] or found[2]).split()))
    return ", ".join(parts)[:_LONGEST]


def is_boilerplate(heading: str) -> bool:
    """Return whether a heading is boilerplate that many documents share."""
    return _BOILERPLATE.fullmatch(heading.strip(" .:_-–—*\t")) is not None
