"""Sitemaps: lists of the pages of a site, and lists of such lists."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from footnotes.errors import ParseError
from footnotes.fetch.http import decompress, limit_bytes

_GZIP = b"\x1f\x8b"
_START = 2_000
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The addresses of a sitemap: of pages, or of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def is_sitemap(path: Path, max_bytes: int) -> bool:
    """Return whether a file is a sitemap, possibly compressed, by its content."""
    try:
        start = _read(path, max_bytes, most=_START)
    except Exception:
        return False
    return b"<urlset" in start or b"<sitemapindex" in start


def read_sitemap(path: Path, max_bytes: int, most: int) -> Sitemap:
    """Read at most `most` addresses of a sitemap, without network access."""
    from lxml import etree

    pages: list[str] = []
    sitemaps: list[str] = []
    content = io.BytesIO(_read(path, max_bytes))
    try:
        reading = etree.iterparse(content, tag="{*}loc", resolve_entities=False, no_network=True, huge_tree=False)
        for _, element in reading:
            parent = element.getparent()
            kind = "" if parent is None else etree.QName(parent).localname
            if address := (element.text or "").strip():
                found = {"url": pages, "sitemap": sitemaps}.get(kind)
                if found is not None:
                    found.append(address)
            if len(pages) + len(sitemaps) >= most:
                break
            element.clear()
    except etree.XMLSyntaxError as error:
        raise ParseError(f"the sitemap is damaged: {error}") from error
    return Sitemap(tuple(dict.fromkeys(pages)), tuple(dict.fromkeys(sitemaps)))


def _read(path: Path, max_bytes: int, most: int | None = None) -> bytes:
    """Read a file, decompressed, up to `most` bytes."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        blocks: Iterator[bytes] = iter(lambda: file.read(_BLOCK), b"")
        content = io.BytesIO()
        for block in limit_bytes(decompress(blocks) if packed else blocks, max_bytes):
            content.write(block)
            if most is not None and content.tell() >= most:
                break
    return content.getvalue()[:most]
