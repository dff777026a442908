"""Parses electronic books chapter by chapter, in the order of the spine."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.decode import clean
from footnotes.parse.html import HtmlReader, read_html
from footnotes.types import JsonValue, Part, Report

_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_FIELDS = {"title": "title", "creator": "author", "language": "language", "date": "created", "subject": "subject"}


class EpubParser:
    """Reads the chapters of a book as HTML."""

    name: ClassVar[str] = "epub"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.EPUB,)
    suffixes: ClassVar[Mapping[str, str]] = {".epub": types.EPUB}
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        builder = Builder()
        warnings: list[str] = []
        with open_archive(source) as archive:
            if "META-INF/encryption.xml" in archive.namelist() and "META-INF/rights.xml" in archive.namelist():
                raise EncryptedDocument(f"{source.filename} is protected by its publisher")
            package, folder = _package(archive, source)
            metadata = _metadata(package)
            own_title = metadata.get("title")
            # A book's first heading belongs to its first chapter.
            builder.stated, builder.stated_wins = own_title if isinstance(own_title, str) else None, True
            for name in _spine(package, folder):
                try:
                    content = archive.read(name).decode("utf-8", "replace")
                except KeyError:
                    warnings.append(f"the chapter {name} is missing")
                    continue
                yield from read_html(iter((clean(content),)), HtmlReader(builder))
                yield from builder.full()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no text")
        title = builder.stated or builder.title
        yield Report(
            self.name, source.mime, builder.position, title=title, metadata=metadata, warnings=tuple(warnings[:20])
        )


def _package(archive: zipfile.ZipFile, source: Source) -> tuple[object, str]:
    """Return the book's table of contents, and its folder."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        container = etree.fromstring(archive.read("META-INF/container.xml"), parser)
        path = next(element.get("full-path") for element in container.iter("{*}rootfile"))
        return etree.fromstring(archive.read(path), parser), posixpath.dirname(path)
    except (KeyError, StopIteration, TypeError, etree.XMLSyntaxError) as error:
        raise ParseError(f"{source.filename} is not a book that can be read: {error}") from error


def _spine(package: Any, folder: str) -> Iterator[str]:
    """Yield the names of the chapters in reading order."""
    items = {item.get("id"): item.get("href") or "" for item in package.iter(f"{_OPF}item")}
    for reference in package.iter(f"{_OPF}itemref"):
        href = items.get(reference.get("idref"))
        if href:
            yield posixpath.normpath(posixpath.join(folder, unquote(href)))


def _metadata(package: Any) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for field, name in _FIELDS.items():
        element = package.find(f".//{_DC}{field}")
        text = clean(element.text or "").strip() if element is not None else ""
        if text:
            found[name] = text[:1000]
    return found
