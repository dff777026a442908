"""Web sites: the pages of a sitemap, or those that links from a page reach.

`https://host/docs/` follows links below that address, `depth` of them in a row (3 by default); `include` and `exclude`
are patterns of paths. Pages that robots.txt or the page itself forbids are not read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml.html import HtmlElement

from footnotes.errors import DocumentError, FetchFailed, RobotsDisallowed, UnsupportedType
from footnotes.fetch.client import Client, Fetched, Unchanged
from footnotes.fetch.url import Url, join_url, parse_url, same_site
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_blocks
from footnotes.ingest.sources.main_content import main_content, page_tree
from footnotes.ingest.web import MOST_SITEMAPS, filename_of, is_sitemap, read_sitemap, rules_from

DEPTH = 3
_Listing = Generator[Entry | LeftOut, None, list[Url]]
"""Yields entries, and returns the links of the page."""
_PAGES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that was fetched for its links, in a file until it is read."""

    file: Path
    filename: str
    url: str


class WebSource(BaseSource):
    """The pages of a site. A stamp is the hash of a page's content with its entity tag and date."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._start = parse_url(address.text)
        self.name = self._start.text
        self.root = f"{self._start.scheme}://{self._start.text.partition('://')[2].partition('/')[0]}"
        rules = rules_from(address.settings)
        self._client, self._most_bytes = Client(rules), rules.max_bytes
        self._folder = address.folder()
        self._most = min(address.number("pages", address.settings.fetch_max_pages), address.settings.fetch_max_pages)
        self._depth = address.number("depth", DEPTH)
        self._pages: dict[str, _Page] = {}
        self._seen: set[str] = set()

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "depth", "include", "exclude", "pages", "whole"

    # ── listing

    def entries(self) -> Iterator[Entry | LeftOut]:
        file = self._folder / "start"
        found = self._client.fetch(self._start.text, file)
        if is_sitemap(file, self._most_bytes):
            yield from self._list_sitemap(file)
            return
        assert isinstance(found, Fetched)
        yield from self._crawl(found, file)

    def _list_sitemap(self, file: Path) -> Iterator[Entry | LeftOut]:
        first = read_sitemap(file, self._most_bytes, self._most + 1)
        pages = list(first.pages)
        for further in first.sitemaps[:MOST_SITEMAPS]:
            self._client.fetch(further, file)  # an unreadable page makes the listing incomplete: it raises
            pages += read_sitemap(file, self._most_bytes, self._most + 1).pages
        for number, text in enumerate(dict.fromkeys(pages)):
            url = parse_url(text)
            if number >= self._most:
                self.complete = False
                return
            if same_site(self._start, url) and self.address.includes(url.target):
                yield from self._fetch_page(url, follow=False)

    def _crawl(self, found: Fetched, file: Path) -> Iterator[Entry | LeftOut]:
        """Follow links breadth first. No page is fetched twice."""
        seen, queue = {self._start.text, found.url.text}, list[tuple[Url, int]]()
        links = yield from self._page_entry(self._start, found, file)
        queue += [(link, 1) for link in links]
        while queue:
            url, depth = queue.pop(0)
            if url.text in seen or depth > self._depth or not self._is_inside(url):
                continue
            if len(seen) >= self._most:
                self.complete = False
                return
            seen.add(url.text)
            links = yield from self._fetch_page(url, follow=depth < self._depth)
            queue += [(link, depth + 1) for link in links]

    def _fetch_page(self, url: Url, *, follow: bool) -> _Listing:
        """Fetch a page. If its links are not needed, the server only sends it if it changed."""
        file = self._folder / digest(url.text)
        key = _key(url)
        known = self.known.get(key, "")
        versions = {} if follow else _versions(known)
        try:
            found = self._client.fetch(url.text, file, **versions)
        except RobotsDisallowed:
            yield LeftOut(key, "not allowed by robots.txt")
            return []
        except UnsupportedType:
            return []
        except FetchFailed as error:
            if not error.message.endswith((" 404", " 410")):
                yield LeftOut(key, "cannot be fetched now")
            return []
        except DocumentError:
            yield LeftOut(key, "is not fetched")
            return []
        if isinstance(found, Unchanged):
            self._seen.add(key)
            yield Entry(key, known)
            return []
        return (yield from self._page_entry(url, found, file))

    def _page_entry(self, url: Url, found: Fetched, file: Path) -> _Listing:
        """Yield an entry for a page under its canonical address; return its links."""
        if found.mime not in _PAGES:
            yield from self._entry(url, found, file, file.read_bytes())
            return []
        raw = file.read_bytes()
        tree = page_tree(raw, found.charset)
        if tree is None:
            return []
        robots = ",".join(tree.xpath("//meta[translate(@name,'ROBTS','robts')='robots']/@content")).lower()
        links = [] if "nofollow" in robots else list(_links(tree, found.url))
        canonical = next(iter(_addresses(tree.xpath("//link[@rel='canonical']/@href"), found.url)), found.url)
        if not same_site(self._start, canonical):
            canonical = found.url
        if "noindex" not in robots and same_site(self._start, found.url):
            text = raw if self.address.flag("whole") else main_content(tree)
            yield from self._entry(canonical, found, file, text)
        return links

    def _entry(self, url: Url, found: Fetched, file: Path, content: bytes) -> Iterator[Entry | LeftOut]:
        key = _key(url)
        if key in self._seen:
            return
        self._seen.add(key)
        file.write_bytes(content)
        self._pages[key] = _Page(file, filename_of(found), url.text)
        # The content comes first in the stamp: servers change tags and dates of unchanged pages.
        yield Entry(key, "\n".join((digest(repr(content)), found.etag or "", found.modified or "")), len(content))

    def _is_inside(self, url: Url) -> bool:
        folder = self._start.target.partition("?")[0].rpartition("/")[0] + "/"
        return same_site(self._start, url) and url.target.startswith(folder) and self.address.includes(url.target)

    # ── reading

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        page = self._pages.get(entry.key) or self._fetch_again(entry)
        path = write_blocks([page.file.read_bytes()], folder / "page", self.limit)
        yield Content(path, page.filename, metadata={"url": page.url})

    def _fetch_again(self, entry: Entry) -> _Page:
        """Fetch an unchanged page again, because the parser or chunker changed."""
        list(self._fetch_page(parse_url(f"{self.root}/{entry.key}"), follow=True))
        if entry.key not in self._pages:
            raise FileNotFoundError(entry.key)
        return self._pages[entry.key]


def _key(url: Url) -> str:
    return url.target.lstrip("/")


def _versions(stamp: str) -> dict[str, str | None]:
    _, _, versions = stamp.partition("\n")
    etag, _, modified = versions.partition("\n")
    return {"etag": etag or None, "modified": modified or None}


def _links(tree: HtmlElement, base: Url) -> Iterator[Url]:
    base_address = next(iter(_addresses(tree.xpath("//base/@href"), base)), base)
    for element in tree.iter("a"):
        if "nofollow" not in (element.get("rel") or ""):
            yield from _addresses([element.get("href") or ""], base_address)


def _addresses(found: Iterable[str], base: Url) -> Iterator[Url]:
    for text in found:
        target = text.strip()
        if target and not target.startswith(("#", "mailto:", "javascript:", "tel:", "data:")):
            try:
                yield join_url(base, target)
            except DocumentError:
                continue
