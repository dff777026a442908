"""Inspects one file: all facts of its extraction, without a library."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeAlias

from footnotes.chunk import Chunker
from footnotes.chunk.assemble import AssembledChunk, assemble
from footnotes.errors import DocumentError, DocumentTooLarge, FootnotesError, SourceUnreadable
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.catalog import types_by_suffix
from footnotes.parse.limits import Limits
from footnotes.parse.open import parse_document
from footnotes.parse.outline import document_title
from footnotes.parse.pdf_pages import count_images
from footnotes.parse.sniff import sniff
from footnotes.types import Block, Metadata, Part, Report

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".svg", ".emf", ".wmf", ".webp")
_THUMBNAILS = ("docprops/", "thumbnails/")
_ARCHIVES = (types.DOCX, types.PPTX, types.XLSX, types.XLSB, types.ODT, types.ODP, types.ODS, types.EPUB)
_IMAGE_MARKS = {
    types.HTML: re.compile(rb"<img\b", re.IGNORECASE),
    types.MARKDOWN: re.compile(rb"!\[[^\]\n]{0,300}\]\(|<img\b"),
}
_READ_BYTES = 1 << 20
ChunkerFor: TypeAlias = Callable[[str], Chunker]
"""Returns the chunker of a content type."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts of one page or slide. `images` is None if they are not counted."""

    number: int
    characters: int
    blocks: int
    tables: int
    images: int | None
    ocr: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file as it would be ingested. `mime` is the type by content, `promised` the type by name."""

    path: Path
    bytes: int
    mime: str
    promised: str | None
    report: Report
    title: str
    parts: tuple[Part, ...]
    chunker: str
    chunker_options: Metadata
    chunks: tuple[AssembledChunk, ...]
    images: int | None
    page_images: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    pages: tuple[PageFacts, ...] = field(default=())

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def blocks(self) -> list[Block]:
        return [block for part in self.parts for block in part.blocks]

    @property
    def headings(self) -> list[Block]:
        return [block for block in self.blocks if block.kind == "heading"]

    @property
    def tables(self) -> int:
        """The number of tables; consecutive rows under one header are one table."""
        return _count_tables(self.blocks)

    @property
    def ocr_pages(self) -> list[int]:
        return [page.number for page in self.pages if page.ocr]


def inspect_file(path: Path, chunker_for: ChunkerFor, *, limits: Limits, max_bytes: int) -> Inspection:
    """Read and cut a file as `add` would. Raises the error `add` would report."""
    size = _size(path, max_bytes)
    kind = sniff(path, path.name)
    source = Source(path, path.name, kind.mime)
    parts: list[Part] = []
    report: Report | None = None
    for item in parse_document(source, limits=limits):
        if isinstance(item, Report):
            report = item
        else:
            parts.append(item)
    if report is None or not parts:
        raise DocumentError(f"{path.name} holds no text")
    title = document_title(path.name, parts[0])
    chunker = chunker_for(kind.mime)
    images, by_page = _count_page_images(path, kind.mime, limits)
    return Inspection(
        path=path,
        bytes=size,
        mime=kind.mime,
        promised=types_by_suffix().get(PurePath(path.name).suffix.lower()),
        report=report,
        title=title,
        parts=tuple(parts),
        chunker=chunker.name,
        chunker_options=chunker.options,
        chunks=tuple(chunk for part in parts for chunk in assemble(chunker.split(part), part, title=title)),
        images=images,
        page_images=by_page,
        warnings=(*kind.warnings, *report.warnings),
        pages=tuple(_pages(report, parts, by_page)),
    )


def _size(path: Path, max_bytes: int) -> int:
    try:
        if not path.is_file():
            raise SourceUnreadable(f"there is no file {path}")
        size = path.stat().st_size
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read ({error.strerror})") from error
    if size > max_bytes:
        raise DocumentTooLarge(f"{path.name} is larger than {max_bytes:,} bytes")
    return size


def _pages(report: Report, parts: Sequence[Part], images: Sequence[int]) -> Iterable[PageFacts]:
    """Yield every page of a document with pages, including those without text."""
    by_page: dict[int, list[Block]] = {}
    for part in parts:
        for block in part.blocks:
            if block.page is not None:
                by_page.setdefault(block.page, []).append(block)
    for number in range(1, (report.pages or max(by_page, default=0)) + 1):
        blocks = by_page.get(number, [])
        yield PageFacts(
            number,
            sum(block.end - block.start for block in blocks),
            len(blocks),
            _count_tables(blocks),
            images[number - 1] if number <= len(images) else None,
            any(block.attributes.get("ocr") is True for block in blocks),
        )


def _count_tables(blocks: Sequence[Block]) -> int:
    count, before = 0, None
    for block in blocks:
        header = (block.attributes.get("header"), block.page) if block.kind == "table" else None
        count += block.kind == "table" and header != before
        before = header
    return count


def is_drawn(inspection: Inspection) -> bool:
    """Return whether the pages of the file can be drawn."""
    return inspection.mime == types.PDF


def _count_page_images(path: Path, mime: str, limits: Limits) -> tuple[int | None, tuple[int, ...]]:
    """Count the images of a file and of its pages, without decoding them; None if they cannot be counted."""
    if mime == types.PDF:
        try:
            by_page = count_images(path, limits)
        except FootnotesError:
            return None, ()
        return sum(by_page), tuple(by_page)
    if mime in _ARCHIVES:
        return _count_in_archive(path), ()
    pattern = _IMAGE_MARKS.get(mime)
    return (_count_marks(path, pattern) if pattern else None), ()


def _count_in_archive(path: Path) -> int | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.lower() for name in archive.namelist()]
            return sum(name.endswith(_SUFFIXES) and not name.startswith(_THUMBNAILS) for name in names)
    except (OSError, zipfile.BadZipFile, ValueError):
        return None


def _count_marks(path: Path, pattern: re.Pattern[bytes]) -> int:
    with path.open("rb") as file:
        return sum(len(pattern.findall(line)) for line in iter(lambda: file.readline(_READ_BYTES), b""))
