"""The rules of fetching, each with the control that shows the rule is what stops it."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from footnotes.errors import DocumentTooLarge, FetchFailed, RobotsDisallowed, UnsupportedType, UrlBlocked
from footnotes.fetch.client import Client, Fetched, Rules, Unchanged
from footnotes.fetch.url import parse_url
from web_site import Page, Site

OPEN = Rules(private=True, max_bytes=100_000, seconds=10, delay=0, accepts=lambda mime: mime.startswith("text/"))
CLOSED = replace(OPEN, private=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        running.pages["/"] = Page("<html>Home</html>")
        yield running


def test_a_page_is_written_to_a_file(site: Site, tmp_path: Path) -> None:
    site.pages["/a%20b?q=1"] = Page("Täxt".encode("latin-1"), "text/plain; charset=ISO-8859-1", headers={"ETag": '"7"'})
    found = Client(OPEN).fetch(site.url("/a b?q=1#part"), tmp_path / "page")
    assert isinstance(found, Fetched)
    assert (found.mime, found.charset, found.etag, found.modified) == ("text/plain", "iso-8859-1", '"7"', None)
    assert (tmp_path / "page").read_bytes() == "Täxt".encode("latin-1")
    assert site.headers[-1]["user-agent"].startswith("footnotes/")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1", "[::ffff:127.0.0.1]"])
def test_private_addresses_are_blocked(site: Site, tmp_path: Path, host: str) -> None:
    address = f"http://{host}:{site.port}/"
    with pytest.raises((UrlBlocked, FetchFailed)):
        Client(CLOSED).fetch(address, tmp_path / "page")
    assert site.asked == []
    assert isinstance(Client(OPEN).fetch(address, tmp_path / "page"), Fetched), "the control"
    assert site.asked_for() == ["/"]


@pytest.mark.parametrize(
    "address", ["ftp://example.org/", "file:///etc/passwd", "http://", "http://a:b@example.org/", "https://ex ample/"]
)
def test_what_is_no_address_of_a_page(tmp_path: Path, address: str) -> None:
    with pytest.raises((UrlBlocked, FetchFailed)):
        Client(OPEN).fetch(address, tmp_path / "page")


def test_a_redirect_is_checked_like_the_first_address(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first host counts as public; the one it leads to does not, and gets nothing."""
    import footnotes.fetch.address as module

    with Site() as canary:
        site.pages["/go"] = Page(status=302, headers={"Location": canary.url("/secret")})
        canary.pages["/secret"] = Page("<html>secret</html>")
        checked: list[str] = []

        def first_only(address: str) -> bool:
            checked.append(address)
            return len(checked) <= 2  # robots.txt and the page itself

        monkeypatch.setattr(module, "is_public", first_only)
        with pytest.raises(UrlBlocked):
            Client(CLOSED).fetch(site.url("/go"), tmp_path / "page")
        assert canary.asked == [] and site.asked_for() == ["/go"]
        assert isinstance(Client(OPEN).fetch(site.url("/go"), tmp_path / "page"), Fetched), "the control"
        assert canary.asked_for() == ["/secret"]


def test_redirects_have_an_end(site: Site, tmp_path: Path) -> None:
    for number in range(10):
        site.pages[f"/{number}"] = Page(status=301, headers={"Location": f"/{number - 1}" if number else "/"})
    with pytest.raises(FetchFailed, match="redirects"):
        Client(OPEN).fetch(site.url("/9"), tmp_path / "page")
    found = Client(OPEN).fetch(site.url("/3"), tmp_path / "page")
    assert isinstance(found, Fetched) and found.url.text == parse_url(site.url("/")).text


def test_a_redirect_to_another_scheme_is_blocked(site: Site, tmp_path: Path) -> None:
    site.pages["/go"] = Page(status=302, headers={"Location": "file:///etc/passwd"})
    with pytest.raises(UrlBlocked):
        Client(OPEN).fetch(site.url("/go"), tmp_path / "page")


def test_size_is_counted_while_reading(site: Site, tmp_path: Path) -> None:
    site.pages["/large"] = Page("x" * 200_000, "text/plain")
    site.pages["/liar"] = Page("x" * 200_000, "text/plain", headers={"Connection": "close"}, length=5)
    with pytest.raises(DocumentTooLarge):
        Client(OPEN).fetch(site.url("/large"), tmp_path / "page")
    assert (tmp_path / "page").stat().st_size <= OPEN.max_bytes
    assert isinstance(Client(OPEN).fetch(site.url("/liar"), tmp_path / "page"), Fetched)
    assert (tmp_path / "page").stat().st_size == 5, "no more than was declared"
    wide = replace(OPEN, max_bytes=300_000)
    assert isinstance(Client(wide).fetch(site.url("/large"), tmp_path / "page"), Fetched), "the control"


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_size_is_counted_after_unpacking(site: Site, tmp_path: Path, name: str, pack: object) -> None:
    assert callable(pack)
    site.pages["/bomb"] = Page(pack(b"0" * 50_000_000), "text/plain", headers={"Content-Encoding": name})
    site.pages["/fine"] = Page(pack(b"A text."), "text/plain", headers={"Content-Encoding": name})
    with pytest.raises(DocumentTooLarge):
        Client(OPEN).fetch(site.url("/bomb"), tmp_path / "page")
    assert (tmp_path / "page").stat().st_size <= OPEN.max_bytes
    Client(OPEN).fetch(site.url("/fine"), tmp_path / "page")
    assert (tmp_path / "page").read_text() == "A text."


def test_broken_answers_fail_with_a_code(site: Site, tmp_path: Path) -> None:
    site.pages["/short"] = Page("x" * 10, "text/plain", length=100)
    site.pages["/packed"] = Page(
        gzip.compress(b"word " * 999)[:-20], "text/plain", headers={"Content-Encoding": "gzip"}
    )
    site.pages["/odd"] = Page("x", "text/plain", headers={"Content-Encoding": "br"})
    for path in ("/short", "/packed", "/odd", "/missing"):
        with pytest.raises(FetchFailed):
            Client(OPEN).fetch(site.url(path), tmp_path / "page")


def test_types_that_nobody_reads_are_not_fetched(site: Site, tmp_path: Path) -> None:
    site.pages["/film"] = Page(b"0" * 1000, "video/mp4")
    with pytest.raises(UnsupportedType):
        Client(OPEN).fetch(site.url("/film"), tmp_path / "page")
    assert not (tmp_path / "page").exists()
    everything = replace(OPEN, accepts=lambda mime: True)
    assert isinstance(Client(everything).fetch(site.url("/film"), tmp_path / "page"), Fetched), "the control"


def test_a_page_that_trickles_in_is_given_up(site: Site, tmp_path: Path) -> None:
    def slow(handler: object) -> Page:
        time.sleep(1.5)
        return Page("late")

    site.pages["/slow"] = slow
    with pytest.raises(FetchFailed):
        Client(replace(OPEN, seconds=0.5)).fetch(site.url("/slow"), tmp_path / "page")


def test_robots_are_honoured(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = Page("User-agent: footnotes\nDisallow: /private\n", "text/plain")
    site.pages["/private/a"] = Page("<html>no</html>")
    client = Client(OPEN)
    with pytest.raises(RobotsDisallowed):
        client.fetch(site.url("/private/a"), tmp_path / "page")
    assert site.asked_for() == []
    assert isinstance(client.fetch(site.url("/"), tmp_path / "page"), Fetched)
    assert site.asked.count("/robots.txt") == 1, "read once"
    site.pages["/robots.txt"] = Page("User-agent: another\nDisallow: /\n", "text/plain")
    assert isinstance(Client(OPEN).fetch(site.url("/private/a"), tmp_path / "page"), Fetched), "the control"


def test_robots_hold_behind_a_redirect_too(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = Page("User-agent: *\nDisallow: /private\n", "text/plain")
    site.pages["/go"] = Page(status=302, headers={"Location": "/private"})
    with pytest.raises(RobotsDisallowed):
        Client(OPEN).fetch(site.url("/go"), tmp_path / "page")
    assert "/private" not in site.asked


def test_a_site_that_cannot_say_allows_nothing(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = Page("oops", "text/plain", 500)
    with pytest.raises(RobotsDisallowed):
        Client(OPEN).fetch(site.url("/"), tmp_path / "page")
    site.pages["/robots.txt"] = Page("none", "text/plain", 403)
    assert isinstance(Client(OPEN).fetch(site.url("/"), tmp_path / "page"), Fetched)


def test_a_host_rests_between_two_requests(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("footnotes.fetch.client.time.sleep", pauses.append)
    site.pages["/robots.txt"] = Page("User-agent: *\nCrawl-delay: 7\n", "text/plain")
    client = Client(replace(OPEN, delay=2))
    for _ in range(3):
        client.fetch(site.url("/"), tmp_path / "page")
    assert [round(pause) for pause in pauses] == [2, 7, 7]


def test_a_known_version_is_not_sent_again(site: Site, tmp_path: Path) -> None:
    def versioned(handler: object) -> Page:
        headers = getattr(handler, "headers", {})
        same = headers.get("If-None-Match") == '"1"' or headers.get("If-Modified-Since") == "yesterday"
        return Page(status=304) if same else Page("<html>v1</html>", headers={"ETag": '"1"'})

    site.pages["/v"] = versioned
    client = Client(OPEN)
    assert isinstance(client.fetch(site.url("/v"), tmp_path / "page"), Fetched)
    assert isinstance(client.fetch(site.url("/v"), tmp_path / "page", etag='"1"'), Unchanged)
    assert isinstance(client.fetch(site.url("/v"), tmp_path / "page", modified="yesterday"), Unchanged)
    assert isinstance(client.fetch(site.url("/v"), tmp_path / "page", etag='"2"'), Fetched)


# ── a server that takes its time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9000\r\n"


def _drip(client: socket.socket, first: bytes, then: bytes) -> None:
    client.recv(65536)
    client.sendall(first)
    while True:
        client.sendall(then)
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("scheme", "first", "then"),
    [
        ("http", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        ("http", b"", b"H"),
        ("http", HEAD, b"X-Another: header\r\n"),
        ("http", HEAD + b"\r\n", b"b"),
        ("http", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ("https", b"\x16\x03\x03\x40\x00", b"\x02"),
    ],
)
def test_a_server_that_drips_ends_at_the_deadline(tmp_path: Path, scheme: str, first: bytes, then: bytes) -> None:
    """It sends a byte now and then: each on its own comes in time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                with contextlib.suppress(OSError):
                    client, _ = listener.accept()
                    threading.Thread(target=_quietly, args=(client,), daemon=True).start()
                if listener.fileno() < 0:
                    return

        def _quietly(client: socket.socket) -> None:
            with contextlib.suppress(OSError), client:
                _drip(client, first, then)

        threading.Thread(target=serve, daemon=True).start()
        address = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/"
        ended: Future[Exception] = Future()

        def fetch() -> None:
            try:
                Client(replace(OPEN, seconds=1.0)).fetch(address, tmp_path / "page")
            except Exception as error:
                ended.set_result(error)

        threading.Thread(target=fetch, daemon=True).start()
        assert isinstance(ended.result(20), FetchFailed)


def test_a_resolver_that_hangs_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: hanging.wait(30))
    with pytest.raises(FetchFailed):
        Client(replace(OPEN, seconds=0.3)).fetch("http://slow.example/", tmp_path / "page")
    hanging.set()
