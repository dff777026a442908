"""One file → everything that is known of its extraction, without a library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeAlias

from footnotes.chunk import Chunker
from footnotes.chunk.assemble import Assembled, assemble
from footnotes.errors import DocumentError, DocumentTooLarge, SourceUnreadable
from footnotes.inspect.pictures import images_of
from footnotes.parse import Source
from footnotes.parse.catalog import types_by_suffix
from footnotes.parse.limits import Limits
from footnotes.parse.open import parse_document
from footnotes.parse.outline import document_title
from footnotes.parse.sniff import sniff
from footnotes.parse.types_by_name import PDF
from footnotes.types import Block, Metadata, Part, Report

ChunkerFor: TypeAlias = Callable[[str], Chunker]
"""A content type → the chunker that would cut it."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What was found on one page or slide. `images` is None where nobody counts them."""

    number: int
    characters: int
    blocks: int
    tables: int
    images: int | None
    ocr: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file as Footnotes would take it in. `mime` is told by the bytes, `promised` by the name."""

    path: Path
    bytes: int
    mime: str
    promised: str | None
    report: Report
    title: str
    parts: tuple[Part, ...]
    chunker: str
    chunker_options: Metadata
    chunks: tuple[Assembled, ...]
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
        """Runs of rows that follow each other under one header are one table."""
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
    images, by_page = images_of(path, kind.mime, limits)
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
        chunks=tuple(made for part in parts for made in assemble(chunker.split(part), part, title=title)),
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
    """Every page of a document that has some, those without text too."""
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
    """Whether the file has pages of which pictures can be made."""
    return inspection.mime == PDF
