"""How many images a file holds, as far as that can be told without decoding any."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from footnotes.errors import FootnotesError
from footnotes.parse import types_by_name as types
from footnotes.parse.limits import Limits
from footnotes.parse.pdf_pages import count_images

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".svg", ".emf", ".wmf", ".webp")
_OF_THE_FILE_ITSELF = ("docprops/", "thumbnails/")
_ARCHIVES = (types.DOCX, types.PPTX, types.XLSX, types.XLSB, types.ODT, types.ODP, types.ODS, types.EPUB)
_MARKED = {
    types.HTML: re.compile(rb"<img\b", re.IGNORECASE),
    types.MARKDOWN: re.compile(rb"!\[[^\]\n]{0,300}\]\(|<img\b"),
}
_READ_BYTES = 1 << 20


def images_of(path: Path, mime: str, limits: Limits) -> tuple[int | None, tuple[int, ...]]:
    """The images of a file, and of each of its pages where they can be told apart; None where nobody counts them."""
    if mime == types.PDF:
        try:
            by_page = count_images(path, limits)
        except FootnotesError:
            return None, ()
        return sum(by_page), tuple(by_page)
    if mime in _ARCHIVES:
        return _in_archive(path), ()
    pattern = _MARKED.get(mime)
    return (_marked(path, pattern) if pattern else None), ()


def _in_archive(path: Path) -> int | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.lower() for name in archive.namelist()]
            return sum(name.endswith(_SUFFIXES) and not name.startswith(_OF_THE_FILE_ITSELF) for name in names)
    except (OSError, zipfile.BadZipFile, ValueError):
        return None


def _marked(path: Path, pattern: re.Pattern[bytes]) -> int:
    with path.open("rb") as file:
        return sum(len(pattern.findall(line)) for line in iter(lambda: file.readline(_READ_BYTES), b""))
