"""Pages and sitemaps into a library."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library
from web_site import Page, Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with quick_library(tmp_path / "library", fetch_private=True, fetch_delay=0.0, fetch_seconds=20.0) as opened:
        yield opened


def page(title: str, text: str) -> Page:
    return Page(f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>")


def sitemap(*urls: str, kind: str = "urlset", inner: str = "url") -> str:
    listed = "".join(f"<{inner}><loc>{url}</loc></{inner}>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{kind} xmlns="{space}">{listed}</{kind}>'


def statuses(library: Library, *addresses: str, **options: Any) -> dict[str, str]:
    found = library.add(*addresses, **options)
    return {added.path: added.error.code if added.error else added.status for added in found}


def test_a_page_becomes_a_document(library: Library, site: Site) -> None:
    site.pages["/policy"] = page("Holidays", "Every employee has 28 days of paid leave a year.")
    (added,) = library.add(site.url("/policy"), metadata={"team": "people"})
    document = library.document(str(added.document_id))
    assert (document.source, document.filename, document.mime) == (site.url("/policy"), "policy.html", "text/html")
    assert document.metadata["url"] == site.url("/policy") and document.metadata["team"] == "people"
    assert library.ask("How many days of paid leave does every employee have?").citations


def test_a_page_that_has_not_changed_is_not_read_again(library: Library, site: Site) -> None:
    version = ["1"]

    def versioned(handler: Any) -> Page:
        if handler.headers.get("If-None-Match") == version[0]:
            return Page(status=304)
        made = page("Holidays", f"Version {version[0]} of the text.")
        made.headers["ETag"] = version[0]
        return made

    site.pages["/v"] = versioned
    url = site.url("/v")
    assert statuses(library, url) == {url: "ready"}
    assert statuses(library, url) == {url: "deduplicated"}
    assert site.headers[-1].get("if-none-match") == "1"
    version[0] = "2"
    before = library.documents()[0].id
    assert statuses(library, url) == {url: "replaced"}
    assert [document.id for document in library.documents()] == [before]
    assert statuses(library, url, metadata={"team": "people"}) == {url: "deduplicated"}, "read for its metadata"
    assert library.documents()[0].metadata["team"] == "people"
    assert statuses(library, url, chunker="window") == {url: "replaced"}, "read to be cut again"
    library.delete(before)
    assert statuses(library, url) == {url: "ready"}, "what is gone is fetched again"


def test_a_page_without_versions_is_recognised_by_its_bytes(library: Library, site: Site) -> None:
    site.pages["/p"] = page("A page", "Some text.")
    assert statuses(library, site.url("/p")) == {site.url("/p"): "ready"}
    assert statuses(library, site.url("/p")) == {site.url("/p"): "deduplicated"}


def test_a_page_that_is_gone_keeps_its_document(library: Library, site: Site) -> None:
    site.pages["/p"] = page("A page", "Some text.")
    library.add(site.url("/p"))
    del site.pages["/p"]
    assert statuses(library, site.url("/p")) == {site.url("/p"): "fetch_failed"}
    assert len(library.documents()) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_sitemap_is_recognised_by_its_content(library: Library, site: Site, packed: bool) -> None:
    for name in ("a", "b"):
        site.pages[f"/{name}"] = page(f"Page {name}", f"The text of page {name}.")
    site.pages["/robots.txt"] = Page("User-agent: *\nDisallow: /forbidden\n", "text/plain")
    listed = sitemap(site.url("/a"), site.url("/b"), site.url("/a"), site.url("/forbidden"), "https://example.org/x")
    body = gzip.compress(listed.encode()) if packed else listed.encode()
    site.pages["/pages"] = Page(body, "application/gzip" if packed else "application/xml")
    assert statuses(library, site.url("/pages")) == {
        site.url("/a"): "ready",
        site.url("/b"): "ready",
        site.url("/forbidden"): "skipped",
        "https://example.org/x": "skipped",
    }
    assert "/forbidden" not in site.asked
    assert {document.title for document in library.documents()} == {"Page a", "Page b"}


def test_an_index_of_sitemaps(library: Library, site: Site) -> None:
    site.pages["/a"] = page("Page a", "The text of page a.")
    site.pages["/one.xml"] = Page(sitemap(site.url("/a")), "application/xml")
    site.pages["/index.xml"] = Page(
        sitemap(site.url("/one.xml"), site.url("/gone.xml"), kind="sitemapindex", inner="sitemap"), "application/xml"
    )
    found = statuses(library, site.url("/index.xml"))
    assert found == {site.url("/a"): "ready", site.url("/gone.xml"): "fetch_failed"}


def test_a_sitemap_has_an_end(tmp_path: Path, site: Site) -> None:
    for number in range(5):
        site.pages[f"/{number}"] = page(f"Page {number}", f"Text number {number}.")
    site.pages["/map"] = Page(sitemap(*(site.url(f"/{number}") for number in range(5))), "text/xml")
    options = {"fetch_private": True, "fetch_delay": 0.0, "fetch_max_pages": 3}
    with quick_library(tmp_path / "library", **options) as library:
        found = statuses(library, site.url("/map"))
    assert list(found.values()).count("ready") == 3 and found[site.url("/map")] == "skipped"


def test_a_hostile_sitemap_reads_nothing_else(library: Library, site: Site) -> None:
    entity = '<?xml version="1.0"?><!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y SYSTEM "%s">]>'
    body = entity % site.url("/canary") + "<urlset><url><loc>&x;&y;</loc></url></urlset>"
    site.pages["/map"] = Page(body, "application/xml")
    library.add(site.url("/map"))
    assert "/canary" not in site.asked and library.documents() == []


def test_an_archive_behind_an_address(library: Library, site: Site) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("handbook.md", HANDBOOK)
        archive.writestr("travel.txt", TRAVEL)
    site.pages["/docs.zip"] = Page(packed.getvalue(), "application/zip")
    url = site.url("/docs.zip")
    assert statuses(library, url) == {f"{url}!/handbook.md": "ready", f"{url}!/travel.txt": "ready"}


def test_the_character_set_a_server_names_is_used(library: Library, site: Site) -> None:
    text = "<html><body><p>Съешь ещё этих мягких французских булок.</p></body></html>"
    site.pages["/ru"] = Page(text.encode("koi8-r"), "text/html; charset=KOI8-R")
    (added,) = library.add(site.url("/ru"))
    assert "французских булок" in library.text(str(added.document_id))


def test_nothing_is_fetched_from_inside_unless_allowed(tmp_path: Path, site: Site) -> None:
    site.pages["/"] = page("Secret", "Not for everybody.")
    with quick_library(tmp_path / "closed") as library:
        assert statuses(library, site.url("/")) == {site.url("/"): "url_blocked"}
    assert site.asked == []
    with quick_library(tmp_path / "open", fetch_private=True) as library:
        assert statuses(library, site.url("/")) == {site.url("/"): "ready"}, "the control"


def test_addresses_and_files_together(library: Library, site: Site, tmp_path: Path) -> None:
    site.pages["/p"] = page("A page", "Some text.")
    (tmp_path / "a.txt").write_text("A file.")
    found = statuses(library, site.url("/p"), str(tmp_path / "a.txt"), site.url("/film"))
    assert found == {site.url("/p"): "ready", str(tmp_path / "a.txt"): "ready", site.url("/film"): "fetch_failed"}
