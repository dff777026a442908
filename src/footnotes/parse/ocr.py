"""Recognises the text of pages that have no text layer. Needs the extra `ocr`."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from footnotes.parse.pdf_columns import Fragment
from footnotes.parse.pdf_layout import Layout, lay_out_fragments
from footnotes.parse.pdf_words import Word

if TYPE_CHECKING:
    from pypdfium2 import PdfPage
    from rapidocr import RapidOCR

_DOTS_AN_INCH = 150
_LONGEST_SIDE = 3000
_LEAST_SURE = 0.5
ADDRESS_SPACE = 2 * 1024**3


def available() -> bool:
    """Return whether the extra is installed."""
    return find_spec("rapidocr") is not None


def read_page(page: PdfPage) -> Layout:
    """Recognise the text of a page's picture, laid out like the text of any page."""
    import pypdfium2.raw as pdfium

    if not pdfium.FPDFPage_CountObjects(page.raw):  # nothing is drawn on it
        return lay_out_fragments([])
    width, height = page.get_size()
    scale = min(_DOTS_AN_INCH / 72, _LONGEST_SIDE / max(width, height, 1))
    bitmap = page.render(scale=scale)
    try:
        found = _engine()(bitmap.to_numpy())
    finally:
        bitmap.close()
    lines = zip(found.boxes, found.txts, found.scores, strict=True) if found.txts else ()
    return lay_out_fragments([_fragment(box, text, scale) for box, text, score in lines if score >= _LEAST_SURE])


def _fragment(box: Any, text: str, scale: float) -> Fragment:
    """Convert a recognised line to one word; the picture counts from its top, a page from its bottom."""
    across = [float(point[0]) / scale for point in box]
    down = [-float(point[1]) / scale for point in box]
    word = Word(text.strip(), -1, min(across), min(down), max(across), max(down), False, False, False)
    return Fragment([word], word.left, word.bottom, word.right, word.top)


@cache
def _engine() -> RapidOCR:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": 2})
