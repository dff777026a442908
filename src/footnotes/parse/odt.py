"""Parses OpenDocument texts and presentations."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.decode import clean
from footnotes.types import JsonValue, Part, Report

if TYPE_CHECKING:
    from odfdo import Document, Element

_SKIPPED = ("text:tracked-changes", "office:forms", "text:sequence-decls", "office:annotation", "presentation:notes")
_FIELDS = {"title": "title", "creator": "author", "subject": "subject", "language": "language"}


class OdtParser:
    """Reads headings, paragraphs, lists and tables in order."""

    name: ClassVar[str] = "odt"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.ODT, types.ODP)
    suffixes: ClassVar[Mapping[str, str]] = {".odt": types.ODT, ".odp": types.ODP}
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        document = _open(source)
        builder = Builder()
        metadata = _metadata(document)
        own_title = metadata.get("title")
        builder.stated = own_title if isinstance(own_title, str) else None
        pages = 0
        for element in document.body.children:
            if element.tag == "draw:page":
                pages += 1
                builder.page = pages
            _read(builder, element)
            yield from builder.full()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no text")
        title = builder.stated or builder.title
        yield Report(self.name, source.mime, builder.position, pages or None, (), title, metadata)


def _open(source: Source) -> Document:
    import odfdo

    with open_archive(source) as archive:
        if "META-INF/manifest.xml" in archive.namelist():
            manifest = archive.read("META-INF/manifest.xml")
            if b"manifest:encryption-data" in manifest:
                raise EncryptedDocument(f"{source.filename} is protected by a password")
    try:
        document = odfdo.Document(str(source.path))
        if document.body is None:
            raise ValueError("it has no body")
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ParseError(f"{source.filename} is not an OpenDocument file that can be read: {error}") from error
    return document


def _read(builder: Builder, element: Element) -> None:
    """Add an element; descend into elements that only hold others."""
    tag = element.tag
    if tag == "text:h":
        level = str(element.get_attribute("text:outline-level") or "")
        builder.heading(int(level) if level.isdigit() else 1, _text(element))
    elif tag == "text:p":
        builder.add("paragraph", _text(element))
        for frame in element.get_elements("descendant::draw:text-box"):
            _read(builder, frame)
    elif tag == "text:list":
        lines = [" ".join(_text(item).split()) for item in element.get_elements("descendant::text:p")]
        builder.add("list", "\n".join(f"- {line}" for line in lines if line))
    elif tag == "table:table":
        rows = element.get_elements("descendant::table:table-row")
        builder.add_table([_text(cell) for cell in row.get_elements("table:table-cell")] for row in rows)
    elif tag not in _SKIPPED:
        for child in element.children:
            _read(builder, child)


def _text(element: Element) -> str:
    return str(element.inner_text or "")


def _metadata(document: Document) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    meta = document.meta
    for field, name in _FIELDS.items():
        value = getattr(meta, field, None)
        if value and (text := clean(str(value)).strip()):
            found[name] = text[:1000]
    for field, name in (("creation_date", "created"), ("date", "modified")):
        value = getattr(meta, field, None)
        if value is not None and hasattr(value, "isoformat"):
            found[name] = value.replace(tzinfo=None).isoformat(timespec="seconds")
    return found
