"""Places on a web site of this machine: pages, sitemaps, feeds, and the API of GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from footnotes.testing.source_suite import SourcePlace
from source_files import issue
from web_site import Page, Site


class SitePlace(SourcePlace):
    """A site whose pages are made again whenever an entry changes."""

    renames = False

    def __init__(self, site: Site) -> None:
        self.site = site
        self.texts: dict[str, str] = {}
        site.pages["/robots.txt"] = Page("", status=404)
        self.write()

    def put(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.write()

    def remove(self, name: str) -> None:
        del self.texts[name]
        self.write()

    def write(self) -> None:
        raise NotImplementedError

    @contextmanager
    def away(self) -> Iterator[None]:
        kept = dict(self.site.pages)
        self.site.pages.clear()
        self.site.pages.update(dict.fromkeys(kept, Page("busy", status=503)))
        yield
        self.site.pages.clear()
        self.site.pages.update(kept)


class CrawlPlace(SitePlace):
    """Pages that a start page links to; the start page itself says that it is not to be taken in."""

    def __init__(self, site: Site) -> None:
        self.address = site.url("/docs/")
        super().__init__(site)

    def write(self) -> None:
        links = "".join(f"<a href='{name}.html'>{name}</a>" for name in self.texts)
        head = "<head><meta name='robots' content='noindex'></head>"
        pages = {"/robots.txt": Page("", status=404), "/docs/": Page(f"<html>{head}<body>{links}</body></html>")}
        for name, text in self.texts.items():
            page = f"<html><head><title>{name}</title></head><body><main><p>{escape(text)}</p></main></body></html>"
            pages[f"/docs/{name}.html"] = Page(page)
        self.site.pages.clear()
        self.site.pages.update(pages)


class SitemapPlace(CrawlPlace):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.address = site.url("/sitemap.xml")

    def write(self) -> None:
        super().write()
        places = "".join(f"<url><loc>{self.site.url(f'/docs/{name}.html')}</loc></url>" for name in self.texts)
        self.site.pages["/sitemap.xml"] = Page(f"<urlset>{places}</urlset>", mime="application/xml")


class FeedPlace(SitePlace):
    is_complete = False

    def __init__(self, site: Site) -> None:
        self.address = f"feed+{site.url('/feed.xml')}"
        super().__init__(site)

    def write(self) -> None:
        items = "".join(
            f"<item><guid>{name}</guid><title>{name}</title><link>{self.site.url('/' + name)}</link>"
            f"<category>news</category><description>{escape(text)}</description></item>"
            for name, text in self.texts.items()
        )
        feed = f"<rss version='2.0'><channel><title>The valley</title>{items}</channel></rss>"
        self.site.pages["/feed.xml"] = Page(feed, mime="application/rss+xml")


class GitHubPlace(SitePlace):
    """The two addresses of the API that are asked, page by page."""

    secret = "ghp-s3cret-of-the-hive"

    def __init__(self, site: Site) -> None:
        self.address = "github://team/docs"
        self.options = {"api": site.url("").rstrip("/"), "token": "env:TEST_TOKEN"}
        self.numbers: dict[str, int] = {}
        super().__init__(site)

    def write(self) -> None:
        for name in self.texts:
            self.numbers.setdefault(name, len(self.numbers) + 1)
        query = "?state=all&per_page=100&sort=created&direction=asc&page=1"
        rows = [{**issue(self.numbers[name], name, text), "comments": 1} for name, text in self.texts.items()]
        self.site.pages[f"/repos/team/docs/issues{query}"] = Page(json.dumps(rows), mime="application/json")
        for number in self.numbers.values():
            said = [{"user": {"login": "bo"}, "body": "Seen here too.", "created_at": "2026-01-03T10:00:00Z"}]
            path = f"/repos/team/docs/issues/{number}/comments?per_page=100&page=1"
            self.site.pages[path] = Page(json.dumps(said), mime="application/json")
