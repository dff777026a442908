"""Reads the words of a PDF page with their boxes, with a few calls per word instead of several per character."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_WORD = re.compile(r"[^\s\x00\x02\ufffe]+")
_HYPHENS = ("\x02", "\ufffe")
"""The character that pdfium returns for a hyphen at the end of a line."""
_FILLER = "\uffff"
"""Placeholder for the second half of a character beyond the basic plane, which has its own index."""
_BOLD = re.compile(rb"(?i)bold|black|heavy|demi")
_FONT_NAME_BYTES = 128
_SAMPLED = 40


@dataclass(slots=True)
class Word:
    """A run without white space. `first` is the index of its first character in pdfium's page.

    The box is rotated: the page's main direction of writing runs from left to right.
    """

    text: str
    first: int
    left: float
    bottom: float
    right: float
    top: float
    hyphenated: bool
    vertical: bool
    bold: bool

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def page_words(textpage: object) -> list[Word]:
    """Return the words of a page in the order of its content."""
    raw = page_characters(textpage)
    words = list(_words(textpage, raw))
    if sum(word.vertical for word in words) * 2 > len(words):
        _turn(words, _main_angle(textpage, words))
    return words


def page_characters(textpage: PdfTextPage) -> str:
    """Return the characters of a page, one for each of pdfium's indexes."""
    import pypdfium2.raw as pdfium

    count = textpage.count_chars()
    text: str = textpage.get_text_range() if count else ""
    if len(text) != count:  # characters without a meaning are missing in the text: request each
        codes = [pdfium.FPDFText_GetUnicode(textpage, index) for index in range(count)]
        text = "".join(_characters(codes))
    return text


def _characters(codes: list[int]) -> Iterator[str]:
    """Return one character for each code unit; a pair of surrogates becomes its character, and a filler."""
    paired = False
    for code, following in pairwise([*codes, 0]):
        if paired:
            paired = False
            yield _FILLER
        elif 0xD800 <= code < 0xDC00 <= following < 0xE000:
            paired = True
            yield chr(0x10000 + ((code - 0xD800) << 10) + following - 0xDC00)
        else:
            yield "\ufffd" if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def _words(textpage: PdfTextPage, raw: str) -> Iterator[Word]:
    import pypdfium2.raw as pdfium

    handle = textpage.raw
    box = pdfium.FS_RECTF()
    measure = pdfium.FPDFText_GetLooseCharBox
    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    flags = ctypes.c_int()
    bold: dict[bytes, bool] = {}
    for match in _WORD.finditer(raw):
        first, end = match.span()
        if not measure(handle, first, box):
            continue
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        vertical = False
        if end - first > 1 and measure(handle, end - 1, box):
            across, along = abs(box.top - top), abs(box.left - left)
            vertical = across > along and across > abs(top - bottom) / 2
            left, right = min(left, box.left), max(right, box.right)
            bottom, top = min(bottom, box.bottom), max(top, box.top)
        pdfium.FPDFText_GetFontInfo(handle, first, name, _FONT_NAME_BYTES, flags)
        font = name.value
        if font not in bold:
            bold[font] = bool(_BOLD.search(font))
        hyphenated = raw[end : end + 1] in _HYPHENS
        yield Word(match[0].replace(_FILLER, ""), first, left, bottom, right, top, hyphenated, vertical, bold[font])


def _main_angle(textpage: object, words: list[Word]) -> float:
    import pypdfium2.raw as pdfium

    angles = sorted(pdfium.FPDFText_GetCharAngle(textpage, word.first) for word in words[:_SAMPLED] if word.vertical)
    return float(angles[len(angles) // 2])


def _turn(words: list[Word], angle: float) -> None:
    """Rotate the boxes of a page that is written upwards or downwards."""
    upwards = angle < 3.15
    for word in words:
        left, bottom, right, top = word.left, word.bottom, word.right, word.top
        if upwards:
            word.left, word.right, word.bottom, word.top = bottom, top, -right, -left
        else:
            word.left, word.right, word.bottom, word.top = -top, -bottom, left, right
        word.vertical = not word.vertical
