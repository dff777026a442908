"""Fetches pages: checks every address, follows few redirects, limits sizes, and waits between requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes.errors import FetchFailed, RobotsDisallowed, UnsupportedType
from footnotes.fetch.http import PageDeadline, Response, request
from footnotes.fetch.url import Url, join_url, parse_url

if TYPE_CHECKING:
    from protego import Protego

AGENT = "footnotes"
MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": f"{AGENT}/0.1 (reads pages its user names)",
    "Accept": "text/html, text/*, application/pdf, application/xhtml+xml, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
MOST_BYTES = 512_000
LONGEST_DELAY = 60.0
_REFUSES = "User-agent: *\nDisallow: /"


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a client. `accepts` returns whether a content type is read."""

    private: bool
    max_bytes: int
    seconds: float
    delay: float
    accepts: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page that was written to a file. `url` is its address after redirects."""

    url: Url
    mime: str
    charset: str
    etag: str | None
    modified: str | None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The page has not changed."""

    url: Url


class Client:
    """Fetches the pages of one run, and waits between requests to a host as long as our rules or the host require."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._robots = Robots(AGENT, self._robots_text)
        self._next: dict[str, float] = {}

    def fetch(
        self, address: str, target: Path, *, etag: str | None = None, modified: str | None = None
    ) -> Fetched | Unchanged:
        """Write a page to a file. With a known version, an unchanged page is not sent again."""
        conditions = {"If-None-Match": etag, "If-Modified-Since": modified}
        known = {name: value for name, value in conditions.items() if value and value.isprintable()}
        with self._answer(parse_url(address), known, robots=True) as (url, response):
            if response.status == 304 and known:
                return Unchanged(url)
            if response.status != 200:
                raise FetchFailed(f"{url.text} answers with status {response.status}")
            mime, charset = _content_type(response.header("content-type"))
            if not self._rules.accepts(mime):
                raise UnsupportedType(f"{url.text} is of the type {mime[:80]}, which has no parser")
            with target.open("wb") as file:
                for block in response.body(self._rules.max_bytes):
                    file.write(block)
            found = (response.header("etag") or None, response.header("last-modified") or None)
            return Fetched(url, mime, charset, *found)

    @contextmanager
    def _answer(self, url: Url, headers: Mapping[str, str], *, robots: bool) -> Iterator[tuple[Url, Response]]:
        """Open the response after redirects. Every hop is checked like the first."""
        deadline = PageDeadline(self._rules.seconds)
        for _ in range(MOST_REDIRECTS + 1):
            if robots:
                self._check(url)
            self._wait(url, self._robots.delay(url) if robots else 0.0)
            headers_to_send = {**_HEADERS, **headers}
            with request(url, headers_to_send, deadline=deadline, private=self._rules.private) as response:
                location = response.header("location")
                if response.status not in _REDIRECTS or not location:
                    yield url, response
                    return
                url = join_url(url, location)
        raise FetchFailed(f"{url.host} redirects more than {MOST_REDIRECTS} times")

    def _check(self, url: Url) -> None:
        if not self._robots.allows(url):
            raise RobotsDisallowed(f"the robots.txt of {url.host} does not allow {url.text}")

    def _robots_text(self, url: Url) -> tuple[int, str]:
        """Status and text of a site's robots.txt, up to the size that clients must read."""
        text = b""
        with self._answer(join_url(url, "/robots.txt"), {}, robots=False) as (_, response):
            if response.status == 200:
                for block in response.body(self._rules.max_bytes):
                    text += block
                    if len(text) >= MOST_BYTES:
                        break
            return response.status, text.decode("utf-8", "replace")

    def _wait(self, url: Url, seconds: float) -> None:
        """Wait between two requests to a host."""
        now = time.monotonic()
        if (pause := self._next.get(url.host, now) - now) > 0:
            time.sleep(pause)
        self._next[url.host] = time.monotonic() + max(self._rules.delay, seconds)


def _content_type(header: str) -> tuple[str, str]:
    """Parse a content type into type and character set."""
    mime, _, rest = header.partition(";")
    charset = ""
    for parameter in rest.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset":
            charset = value.strip("\"' ").lower()
    return mime.strip().lower(), charset


# ── reads robots.txt: which pages programs may read, and how fast ─────────────────────────────────────────────


class Robots:
    """The robots.txt of every site visited, each read once.

    A site without one allows everything. A site that fails to answer allows nothing for now.
    """

    def __init__(self, agent: str, read: Callable[[Url], tuple[int, str]]) -> None:
        self._agent = agent
        self._read = read
        self._rules: dict[tuple[str, str, int], Protego] = {}

    def allows(self, url: Url) -> bool:
        return bool(self._parse_rules(url).can_fetch(url.text, self._agent))

    def delay(self, url: Url) -> float:
        """Return the seconds that a site asks for between two requests, up to a limit."""
        return min(float(self._parse_rules(url).crawl_delay(self._agent) or 0.0), LONGEST_DELAY)

    def _parse_rules(self, url: Url) -> Protego:
        if url.site not in self._rules:
            from protego import Protego

            status, text = self._read(url)
            failing = status >= 500 or status == 429
            self._rules[url.site] = Protego.parse(_REFUSES if failing else text)
        return self._rules[url.site]
