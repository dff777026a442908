"""Confluence: `confluence:Space-export.zip`, the HTML export of a space. Attachments get their own names back."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from lxml import etree, html

from footnotes.ingest.sources import Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_blocks
from footnotes.ingest.sources.main_content import page_tree
from footnotes.ingest.sources.tree import ExportSource, File
from footnotes.types import JsonValue

_FURNITURE = ("styles/", "images/icons/")


class ConfluenceSource(ExportSource):
    """Pages without Confluence's frame, and their attachments."""

    def entries(self) -> Iterator[Entry | LeftOut]:
        files = {file.name: file for file in self.tree.files()}
        self._pages: dict[str, html.HtmlElement] = {}
        names: dict[str, tuple[str, str]] = {}
        for name in files:
            if name.endswith(".html") and posixpath.basename(name) != "index.html":
                tree = page_tree(self.tree.bytes(name), "utf-8")
                if tree is None or not tree.xpath("//*[@id='main-content']"):
                    continue
                self._pages[name] = tree
                for link in tree.xpath("//a[contains(@href, 'attachments/')]"):
                    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(link.get("href"))))
                    names.setdefault(target, (" ".join(link.itertext()).strip(), _title(tree)))
        for name, tree in self._pages.items():
            metadata = _metadata(tree)
            yield Entry(name, digest(files[name].stamp), files[name].size, metadata)
        yield from self._attachments(files, names)

    def _attachments(self, files: dict[str, File], names: dict[str, tuple[str, str]]) -> Iterator[Entry]:
        self._names: dict[str, str] = {}
        for name, file in files.items():
            if "attachments/" in name and not any(part in name for part in _FURNITURE):
                title, page = names.get(name, ("", ""))
                suffix = posixpath.splitext(name)[1]
                filename = title if title.lower().endswith(suffix.lower()) and title else posixpath.basename(name)
                self._names[name] = filename
                yield Entry(name, digest(file.stamp, filename, page), file.size, {"attached_to": page} if page else {})

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        if entry.key not in self._pages:
            path = self.tree.write(entry.key, folder / "file", self.limit)
            yield Content(path, self._names[entry.key])
            return
        tree = self._pages[entry.key]
        title = _title(tree)
        page = html.Element("html")
        head, body = etree.SubElement(page, "head"), etree.SubElement(page, "body")
        etree.SubElement(head, "title").text = title
        etree.SubElement(body, "h1").text = title
        body.append(tree.xpath("//*[@id='main-content']")[0])
        content = html.tostring(page, encoding="utf-8", doctype="<!DOCTYPE html><meta charset='utf-8'>")
        yield Content(write_blocks([bytes(content)], folder / "page", self.limit), posixpath.basename(entry.key))


def _title(tree: html.HtmlElement) -> str:
    """Return the title of a page, whose own title is `Space : Title`."""
    title = " ".join((tree.findtext(".//title") or "").split())
    return title.partition(" : ")[2] or title


def _metadata(tree: html.HtmlElement) -> dict[str, JsonValue]:
    title = " ".join((tree.findtext(".//title") or "").split())
    space, colon, _ = title.partition(" : ")
    above = [" ".join(each.itertext()).strip() for each in tree.xpath("//*[@id='breadcrumbs']/li")]
    found: dict[str, JsonValue] = {"title": _title(tree)}
    if colon:
        found["space"] = space
    if above:
        found["breadcrumbs"] = [*above]
    author = tree.xpath("//*[contains(@class, 'page-metadata')]//*[contains(@class, 'author')]")
    if author:
        found["author"] = " ".join(author[0].itertext()).strip()
    return found
