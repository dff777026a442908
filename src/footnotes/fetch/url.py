"""Addresses of pages, normalised."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from footnotes.errors import UrlBlocked

SCHEMES = {"http": 80, "https": 443}
_LONGEST = 8_000
_KEPT = "/%:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of an address that a request needs. `text` is the whole address, normalised."""

    text: str
    scheme: str
    host: str
    port: int
    target: str

    @property
    def site(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


def is_url(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


def parse_url(text: str) -> Url:
    """Parse and normalise an address. Raises if it is invalid or holds a password."""
    try:
        parts = urlsplit(text.strip())
        host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
    except (ValueError, UnicodeError) as error:
        raise UrlBlocked(f"{text[:200]!r} is not an address", remedy="Write it as https://host/path.") from error
    if parts.scheme not in SCHEMES or not host or len(text) > _LONGEST:
        raise UrlBlocked(f"{text[:200]!r} is not an address of a page", remedy="Write it as https://host/path.")
    if parts.username is not None or parts.password is not None:
        raise UrlBlocked(
            f"the address of {host} contains a user name or password", remedy="Remove it from the address."
        )
    target = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT + '?')}" if parts.query else "")
    number = port or SCHEMES[parts.scheme]
    host_text = f"[{host}]" if ":" in host else host
    netloc = host_text if number == SCHEMES[parts.scheme] else f"{host_text}:{number}"
    path, _, query = target.partition("?")
    return Url(urlunsplit((parts.scheme, netloc, path, query, "")), parts.scheme, host, number, target)


def join_url(base: Url, location: str) -> Url:
    """Resolve a link or redirect against an address."""
    return parse_url(urljoin(base.text, location))


def same_site(one: Url, other: Url) -> bool:
    """Return whether two pages belong to one site; `www.` makes no difference."""
    return one.host.removeprefix("www.") == other.host.removeprefix("www.")


def last_part(url: Url) -> str:
    """Return the last part of the path, which is closest to a file name."""
    return unquote(url.target.partition("?")[0].rstrip("/").rpartition("/")[2])
