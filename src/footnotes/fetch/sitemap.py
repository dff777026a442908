"""Sitemaps: lists of the pages of a site, and lists of such lists."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from footnotes.errors import ParseError
from footnotes.fetch.http import counted, gunzipped

_GZIP = b"\x1f\x8b"
_START = 2_000
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The addresses a sitemap lists: of pages, or of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def is_sitemap(path: Path, max_bytes: int) -> bool:
    """Whether a file is a sitemap, by what it says; its name does not matter, and it may be packed."""
    try:
        start = _read(path, max_bytes, most=_START)
    except Exception:
        return False
    return b"<urlset" in start or b"<sitemapindex" in start


def read_sitemap(path: Path, max_bytes: int, most: int) -> Sitemap:
    """What a sitemap lists, `most` addresses of it at most. Nothing outside of the file is looked up."""
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
    """The bytes of a file, unpacked where it is packed, as many as are wanted."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        blocks: Iterator[bytes] = iter(lambda: file.read(_BLOCK), b"")
        content = io.BytesIO()
        for block in counted(gunzipped(blocks) if packed else blocks, max_bytes):
            content.write(block)
            if most is not None and content.tell() >= most:
                break
    return content.getvalue()[:most]
