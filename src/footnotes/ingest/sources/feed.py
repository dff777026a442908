"""News feeds: `feed+https://host/feed.xml`, RSS or Atom, by `feedparser`. Entries that leave a feed stay."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

import feedparser
from feedparser import FeedParserDict

from footnotes.errors import SourceAway
from footnotes.fetch.client import Client
from footnotes.fetch.url import parse_url
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_blocks, write_text
from footnotes.ingest.sources.main_content import main_content, page_tree
from footnotes.ingest.web import rules_from
from footnotes.types import JsonValue


class FeedSource(BaseSource):
    """The entries of a feed: the text in the feed, or with `pages=true` the page that it links to."""

    complete = False

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._client = Client(rules_from(address.settings))
        self._url = f"{address.carrier or 'https'}{address.text[len(address.scheme) :]}"
        self._found: dict[str, FeedParserDict] = {}

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("pages",)

    def entries(self) -> Iterator[Entry | LeftOut]:
        with tempfile.TemporaryDirectory(prefix="footnotes-feed-") as folder:
            file = Path(folder) / "feed"
            self._client.fetch(self._url, file)
            feed = feedparser.parse(file.read_bytes())
        if not feed.get("version"):
            raise SourceAway(f"{self.root} is not a feed", remedy="Pass the address of an RSS or Atom feed.")
        for item in feed.entries:
            name = item.get("id") or item.get("link") or item.get("title") or ""
            key = f"{digest(name)}.html"
            if name and key not in self._found:
                self._found[key] = item
                stamp = digest(item.get("updated", ""), item.get("title", ""), _body(item))
                yield Entry(key, stamp, metadata=_metadata(item, feed.feed))

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        item = self._found[entry.key]
        title = str(item.get("title") or "entry")
        if self.address.flag("pages") and (link := item.get("link")):
            file = folder / "fetched"
            found = self._client.fetch(parse_url(link).text, file)
            tree = page_tree(file.read_bytes(), getattr(found, "charset", ""))
            if tree is not None:
                path = write_blocks([main_content(tree)], folder / "page", self.limit)
                yield Content(path, _filename(title), metadata={"url": link})
                return
        head = f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{escape(title)}</title></head>"
        text = f"{head}<body><h1>{escape(title)}</h1>{_body(item)}</body></html>"
        yield Content(write_text(text, folder / "entry"), _filename(title))


def _filename(title: str) -> str:
    return f"{title[:100]}.html"


def _body(item: FeedParserDict) -> str:
    """Return the whole text if the feed has it, else its summary."""
    found = [str(each.get("value") or "") for each in item.get("content") or ()]
    return max(found, key=len, default="") or str(item.get("summary") or "")


def _metadata(item: FeedParserDict, feed: FeedParserDict) -> dict[str, JsonValue]:
    values = {
        "url": item.get("link"),
        "author": item.get("author"),
        "created": item.get("published") or item.get("updated"),
        "feed": feed.get("title"),
    }
    found: dict[str, JsonValue] = {name: str(value)[:1000] for name, value in values.items() if value}
    if tags := [str(tag.get("term")) for tag in item.get("tags") or () if tag.get("term")]:
        found["tags"] = [*tags[:100]]
    return found
