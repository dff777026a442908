"""Renders a page of a stored PDF as an image, with the quoted sentence boxed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

from footnotes.errors import NotFound, OptionError
from footnotes.library import Library
from footnotes.parse.limits import Limits
from footnotes.parse.pdf_boxes import Box
from footnotes.parse.pdf_pages import PagePicture, page_layer, page_picture
from footnotes.parse.types_by_name import PDF

_WASH = (255, 214, 90)  # the colour behind the words
_LINE = (168, 118, 0)  # the colour of the border
_BORDER = 2
_HEADER = 8 + 25  # the signature and the IHDR chunk


def draw_highlights(
    library: Library, document_id: str, page: int, start: int | None, end: int | None, width: int, *, drawn: bool
) -> PagePicture:
    """Render a page and find the boxes of a span; `drawn` paints the boxes into the picture."""
    document = library.document(document_id)
    if document.mime != PDF or not 1 <= page <= (document.pages or 0):
        raise NotFound(f"document {document_id!r} has no picture of page {page}")
    if (start is None) != (end is None) or (start is not None and end is not None and start > end):
        raise OptionError("a span needs a start and an end, and the end cannot be before the start")
    spans = []
    if start is not None and end is not None:
        begins = library.page_start(document_id, page)
        spans = [(max(start - begins, 0), max(end - begins, 0))]
    settings = library.settings
    limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
    picture = page_picture(library.original(document_id), page, spans, width=width, limits=limits)
    if not (drawn and spans):
        return picture
    return picture._replace(png=paint_boxes(picture.png, [box for group in picture.boxes for box in group]))


def words_on_page(library: Library, document_id: str, page: int) -> list[tuple[int, str, float, float, float, float]]:
    """The words of a page with their offsets in the canonical text and their boxes: left, top, right, bottom."""
    document = library.document(document_id)
    if document.mime != PDF or not 1 <= page <= (document.pages or 0):
        raise NotFound(f"document {document_id!r} has no page {page}")
    settings = library.settings
    limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
    try:
        begins = library.page_start(document_id, page)
    except NotFound:
        return []  # a page without text
    found = page_layer(library.original(document_id), page, limits=limits)
    return [(begins + place, text, box.left, box.bottom, box.right, box.top) for place, text, box in found]


def paint_boxes(png: bytes, boxes: Iterable[Box]) -> bytes:
    """Paint boxes over a PNG as a marker would: paper is coloured, ink stays.

    Reads only what `as_png` writes: 8 bits, rows without a filter, one IDAT chunk.
    """
    width, height, _, colour = struct.unpack(">IIBB", png[16:26])
    channels = {0: 1, 2: 3, 6: 4}[colour]
    (length,) = struct.unpack(">I", png[_HEADER : _HEADER + 4])
    rows = zlib.decompress(png[_HEADER + 8 : _HEADER + 8 + length])
    pixels = _to_rgb(rows, width, height, channels)
    for box in boxes:
        _mark(pixels, width, height, box)
    stride = width * 3
    packed = b"".join(b"\x00" + pixels[at : at + stride] for at in range(0, stride * height, stride))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(packed, 6)), (b"IEND", b""))
    return png[:8] + b"".join(_chunk(kind, data) for kind, data in chunks)


def _to_rgb(rows: bytes, width: int, height: int, channels: int) -> bytearray:
    import numpy as np

    grid = np.frombuffer(rows, dtype=np.uint8).reshape(height, width * channels + 1)[:, 1:]
    grid = grid.reshape(height, width, channels)
    grid = np.repeat(grid, 3, axis=2) if channels == 1 else grid[:, :, :3]
    return bytearray(np.ascontiguousarray(grid).tobytes())


def _mark(pixels: bytearray, width: int, height: int, box: Box) -> None:
    import numpy as np

    grid = np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 3)
    left, right = int(box.left * width) - _BORDER, int(box.right * width) + _BORDER
    top, bottom = int(min(box.bottom, box.top) * height) - _BORDER, int(max(box.bottom, box.top) * height) + _BORDER
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
    if left >= right or top >= bottom:
        return
    inside = grid[top:bottom, left:right]
    inside[:] = (inside.astype(np.uint16) * np.array(_WASH, dtype=np.uint16) // 255).astype(np.uint8)
    for edge in (inside[:_BORDER], inside[-_BORDER:], inside[:, :_BORDER], inside[:, -_BORDER:]):
        edge[:] = _LINE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
