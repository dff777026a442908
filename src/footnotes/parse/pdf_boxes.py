"""Finds the boxes of a span of a page's text, for highlights."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from footnotes.errors import NotFound, ParseError
from footnotes.parse import Source
from footnotes.parse.limits import Limits
from footnotes.parse.pdf import open_pdf
from footnotes.parse.pdf_layout import Layout, lay_out
from footnotes.parse.pdf_words import page_words
from footnotes.types import JsonValue, Part, Report


class Box(NamedTuple):
    """A rectangle on a page, in points from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float


class PageBoxes(NamedTuple):
    """The boxes of a span, and the size of their page."""

    width: float
    height: float
    boxes: list[Box]


class BoxesParser:
    """Finds boxes in the parser process: pages are untrusted here too. Never chosen for a content type."""

    name: ClassVar[str] = "pdf_boxes"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = ()
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        """Yield one report whose metadata are the boxes of the span that the content type's parameters name."""
        page, start, end = (int(each.partition("=")[2]) for each in source.mime.split(";")[1:])
        found = boxes(source.path, page, start, end)
        rows: list[JsonValue] = [[*box] for box in found.boxes]
        metadata: dict[str, JsonValue] = {"width": found.width, "height": found.height, "boxes": rows}
        yield Report(self.name, source.mime, 0, metadata=metadata)


def isolated_boxes(path: Path, page: int, start: int, end: int, limits: Limits | None = None) -> PageBoxes:
    """Do the work of `boxes` in the parser process."""
    from footnotes.parse.pool import POOL

    mime = f"application/pdf;page={page};start={start};end={end}"
    for item in POOL.parse(BoxesParser.name, Source(path, path.name, mime), limits or Limits()):
        if isinstance(item, Report):
            found: Any = item.metadata
            return PageBoxes(found["width"], found["height"], [Box(*box) for box in found["boxes"]])
    raise ParseError(f"{path.name} could not be searched for boxes")


def boxes(path: Path, page: int, start: int, end: int) -> PageBoxes:
    """Return the boxes of the characters from `start` to `end` of a page's text, one or more for each line.

    Offsets count from the first block of the page (counted from 1). The page is read again in the same way, so
    they have the same meaning as when the document was added.
    """
    with open_pdf(Source(path, path.name, "application/pdf")) as pdf:
        if not 1 <= page <= len(pdf):
            raise NotFound(f"{path.name} has {len(pdf)} pages, not {page}")
        current = pdf[page - 1]
        try:
            textpage = current.get_textpage()
            try:
                layout = lay_out(page_words(textpage))
                found = span_boxes(textpage, layout, start, end)
            finally:
                textpage.close()
            width, height = current.get_size()
        finally:
            current.close()
    return PageBoxes(width, height, found)


def span_boxes(textpage: object, layout: Layout, start: int, end: int) -> list[Box]:
    """Return the boxes of a span on an open page."""
    return _join([_character_box(textpage, index) for index in _indexes(layout, start, end)])


def word_boxes(textpage: object, layout: Layout) -> Iterator[tuple[int, str, Box]]:
    """Return every word of an open page: its offset in the page's text, its characters and its box."""
    for place, word in layout.words:
        if found := _join([_character_box(textpage, word.first + each) for each in range(len(word.text))]):
            left, bottom, right, top = zip(*found, strict=True)
            yield place, word.text, Box(min(left), min(bottom), max(right), max(top))


def find_quote(path: Path, page: int, quote: str) -> tuple[int, int] | None:
    """Find the span of a quote in the text of a page, ignoring white space."""
    with open_pdf(Source(path, path.name, "application/pdf")) as pdf:
        current = pdf[page - 1]
        textpage = current.get_textpage()
        try:
            text = lay_out(page_words(textpage)).text
        finally:
            textpage.close()
            current.close()
    places = [index for index, character in enumerate(text) if not character.isspace()]
    at = "".join(text.split()).find("".join(quote.split()))
    if at < 0 or not quote.strip():
        return None
    return places[at], places[at + len("".join(quote.split())) - 1] + 1


def _indexes(layout: Layout, start: int, end: int) -> Iterable[int]:
    """Return pdfium's indexes of the characters of a span."""
    starts = [place for place, _ in layout.words]
    for place, word in layout.words[max(0, bisect_right(starts, start) - 1) :]:
        if place >= end:
            break
        first, last = max(start - place, 0), min(end - place, len(word.text))
        yield from range(word.first + first, word.first + last)


def _character_box(textpage: Any, index: int) -> Box:
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(textpage.raw, index, box)
    return Box(box.left, box.bottom, box.right, box.top)


def _join(found: list[Box]) -> list[Box]:
    """Merge the boxes of neighbours on one line."""
    lines: list[Box] = []
    for box in found:
        if lines and _beside(lines[-1], box):
            last = lines[-1]
            lines[-1] = Box(
                min(last.left, box.left),
                min(last.bottom, box.bottom),
                max(last.right, box.right),
                max(last.top, box.top),
            )
        else:
            lines.append(box)
    return lines


def _beside(last: Box, box: Box) -> bool:
    height = min(last.top - last.bottom, box.top - box.bottom)
    overlap = min(last.top, box.top) - max(last.bottom, box.bottom)
    return overlap > height * 0.5 and -height < box.left - last.right < height * 1.2
