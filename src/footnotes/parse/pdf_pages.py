"""Draws pages as images with the boxes of spans of their text, to inspect the extraction."""

from __future__ import annotations

import base64
import ctypes
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple

from footnotes.errors import DocumentError, ParseError
from footnotes.parse import Source
from footnotes.parse.limits import Limits
from footnotes.parse.pdf import open_pdf
from footnotes.parse.pdf_boxes import Box, span_boxes, word_boxes
from footnotes.parse.pdf_layout import lay_out
from footnotes.parse.pdf_words import page_words
from footnotes.types import JsonValue, Part, Report

if TYPE_CHECKING:
    from pypdfium2 import PdfBitmap, PdfDocument, PdfPage

Span = tuple[int, int]
_FINE = 10_000
"""Points across a page in which words are placed: pdfium counts whole ones."""
_GROWS, _GROWS_ANYWAY = 8, 1 << 24
"""How many times larger, and by how many bytes, a PDF may become without its password."""
_TALLEST = 4
"""The maximum ratio of a page's height to its width; the rest is cut off."""


class PagePicture(NamedTuple):
    """A page as a PNG, and for each requested span its boxes, in shares of the picture from its upper left corner."""

    png: bytes
    width: int
    height: int
    boxes: list[list[Box]]


class PagesParser:
    """Draws pages in the parser process: pages are untrusted here too. Never chosen for a content type."""

    name: ClassVar[str] = "pdf_pages"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = ()
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        """Yield one report: how many images each page has, or, if parameters name a page, its picture and boxes."""
        parameters = dict(each.split("=", 1) for each in source.mime.split(";")[1:])
        password = bytes.fromhex(parameters.get("password", "")).decode()
        with open_pdf(source, password or None) as pdf:
            if "password" in parameters:
                metadata = _unlock(pdf, source.path)
            elif "words" in parameters:
                metadata = _extract_words(pdf, int(parameters["words"]))
            elif "page" in parameters:
                spans = [_span(each) for each in parameters["spans"].split(",") if each]
                metadata = _draw(pdf, int(parameters["page"]), int(parameters["width"]), spans)
            else:
                metadata = {"images": [_image_count(pdf, number) for number in range(len(pdf))]}
        yield Report(self.name, source.mime, 0, metadata=metadata)


def count_images(path: Path, limits: Limits | None = None) -> list[int]:
    """Count the images on each page of a PDF."""
    found: Any = _run(path, "application/pdf", limits)["images"]
    return list(found)


def page_picture(
    path: Path, page: int, spans: Sequence[Span], *, width: int, limits: Limits | None = None
) -> PagePicture:
    """Draw a page, counted from 1, at a width in pixels. Offsets count from the first block of the page."""
    spans_text = ",".join(f"{start}-{end}" for start, end in spans)
    found: Any = _run(path, f"application/pdf;page={page};width={width};spans={spans_text}", limits)
    boxes = [[Box(*box) for box in each] for each in found["boxes"]]
    return PagePicture(base64.b64decode(found["png"]), found["width"], found["height"], boxes)


def page_layer(path: Path, page: int, *, limits: Limits | None = None) -> list[tuple[int, str, Box]]:
    """Return the words of a page, counted from 1: offset from its first block, text, box in shares of its picture."""
    found: Any = _run(path, f"application/pdf;words={page}", limits)
    return [(place, text, Box(*box)) for place, text, *box in found["words"]]


@contextmanager
def unlocked(path: Path, password: str, filename: str, limits: Limits | None = None) -> Iterator[BinaryIO]:
    """Yield a copy of a PDF without its password; the copy exists only while it is read."""
    try:
        _run(path, f"application/pdf;password={password.encode().hex()}", limits, filename)
        with _copy(path).open("rb") as file:
            yield file
    finally:
        _copy(path).unlink(missing_ok=True)


def _run(path: Path, mime: str, limits: Limits | None, filename: str = "") -> Any:
    from footnotes.parse.pool import POOL

    for item in POOL.parse(PagesParser.name, Source(path, filename or path.name, mime), limits or Limits()):
        if isinstance(item, Report):
            return item.metadata
    raise ParseError(f"{path.name} could not be drawn")


# ── in the parser process


def _span(text: str) -> Span:
    start, _, end = text.partition("-")
    return int(start), int(end)


def _copy(path: Path) -> Path:
    return path.with_name(f"{path.name}.unlocked")


def _unlock(pdf: PdfDocument, path: Path) -> dict[str, JsonValue]:
    import resource

    import pypdfium2.raw as pdfium

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_GROWS * path.stat().st_size + _GROWS_ANYWAY, hard))
    try:
        pdf.save(_copy(path), flags=pdfium.FPDF_REMOVE_SECURITY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    return {}


def _image_count(pdf: PdfDocument, number: int) -> int:
    import pypdfium2 as pdfium

    try:
        page = pdf[number]
    except pdfium.PdfiumError:
        return 0
    try:
        return sum(1 for _ in page.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_IMAGE]))
    finally:
        page.close()


def _draw(pdf: PdfDocument, number: int, width: int, spans: Sequence[Span]) -> dict[str, JsonValue]:
    import pypdfium2 as pdfium

    try:
        page = pdf[number - 1]
    except (pdfium.PdfiumError, IndexError) as error:
        raise DocumentError(f"page {number} cannot be drawn") from error
    try:
        points, tall = page.get_size()
        scale = width / max(points, tall / _TALLEST, 1.0)
        bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False, fill_color=(255, 255, 255, 255))
        boxes = _boxes(page, spans, bitmap.width, bitmap.height)
        png = base64.b64encode(as_png(bitmap)).decode("ascii")
        return {"png": png, "width": bitmap.width, "height": bitmap.height, "boxes": boxes}
    finally:
        page.close()


def _extract_words(pdf: PdfDocument, number: int) -> dict[str, JsonValue]:
    import pypdfium2 as pdfium

    try:
        page = pdf[number - 1]
    except (pdfium.PdfiumError, IndexError) as error:
        raise DocumentError(f"page {number} cannot be read") from error
    try:
        textpage = page.get_textpage()
        try:
            found = list(word_boxes(textpage, lay_out(page_words(textpage))))
        finally:
            textpage.close()
        return {"words": [[place, text, *_on_picture(page, box, _FINE, _FINE)] for place, text, box in found]}
    finally:
        page.close()


def _boxes(page: PdfPage, spans: Sequence[Span], width: int, height: int) -> list[JsonValue]:
    textpage = page.get_textpage()
    try:
        layout = lay_out(page_words(textpage))
        found = [span_boxes(textpage, layout, start, end) for start, end in spans]
    finally:
        textpage.close()
    return [[[*_on_picture(page, box, width, height)] for box in each] for each in found]


def _on_picture(page: object, box: Box, width: int, height: int) -> Box:
    """Convert a box in points to shares of the picture; pages may be turned, and show only some of their paper."""
    corners = [_to_device(page, x, y, width, height) for x in (box.left, box.right) for y in (box.bottom, box.top)]
    across, down = sorted(x / width for x, _ in corners), sorted(y / height for _, y in corners)
    return Box(*(round(min(max(share, 0.0), 1.0), 4) for share in (across[0], down[0], across[-1], down[-1])))


def _to_device(page: PdfPage, x: float, y: float, width: int, height: int) -> tuple[int, int]:
    import pypdfium2.raw as pdfium

    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page.raw, 0, 0, width, height, 0, x, y, across, down)
    return across.value, down.value


def as_png(bitmap: PdfBitmap) -> bytes:
    """Encode a bitmap of grey, RGB or RGBA pixels as a PNG (ISO/IEC 15948), with unfiltered rows."""
    pixels, length = bytes(bitmap.buffer), bitmap.width * bitmap.n_channels
    rows = b"".join(b"\x00" + pixels[at : at + length] for at in range(0, bitmap.stride * bitmap.height, bitmap.stride))
    colour = {1: 0, 3: 2, 4: 6}[bitmap.n_channels]
    header = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(kind, data) for kind, data in chunks)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
