"""Reads robots.txt: which pages programs may read, and how fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from footnotes.fetch.url import Url

MOST_BYTES = 512_000
LONGEST_DELAY = 60.0
_REFUSES = "User-agent: *\nDisallow: /"


class Robots:
    """The robots.txt of every site that was asked, each read once.

    A site without one allows everything. A site that fails to answer allows nothing, for now.
    """

    def __init__(self, agent: str, read: Callable[[Url], tuple[int, str]]) -> None:
        self._agent = agent
        self._read = read
        self._rules: dict[tuple[str, str, int], Any] = {}

    def allows(self, url: Url) -> bool:
        return bool(self._parse_rules(url).can_fetch(url.text, self._agent))

    def delay(self, url: Url) -> float:
        """The seconds that a site asks for between two requests, up to a limit."""
        return min(float(self._parse_rules(url).crawl_delay(self._agent) or 0.0), LONGEST_DELAY)

    def _parse_rules(self, url: Url) -> Any:
        if url.site not in self._rules:
            from protego import Protego

            status, text = self._read(url)
            failing = status >= 500 or status == 429
            self._rules[url.site] = Protego.parse(_REFUSES if failing else text)
        return self._rules[url.site]
