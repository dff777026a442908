"""Parses and checks the address of a vector database's server, from the setting `index`.

The address may contain a password, so errors never repeat it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import SplitResult, unquote, urlsplit

from footnotes.errors import ConfigError, MissingExtra
from footnotes.settings import Settings

PREFIX = "footnotes"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""The allowed beginnings of a collection's name."""
_HOST = re.compile(r"[\w.:-]+")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of database in addresses: by scheme, with its transport and default port."""

    name: str
    schemes: Mapping[str, tuple[str, int]]
    remedy: str


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server. `login` is the header for user and password in the address, which are never shown."""

    shown: str
    url: str
    prefix: str
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def server_of(settings: Settings, kind: Kind) -> Server:
    """Return the server named in the settings, without connecting."""
    check_seconds(settings)
    parts, port = _split(settings.index, kind)
    prefix = parts.path.strip("/") or PREFIX
    if not NAME.fullmatch(prefix):
        raise ConfigError(
            "the prefix in the setting index has characters that no collection may have", remedy=kind.remedy
        )
    if parts.query or parts.fragment:
        raise ConfigError("the setting index has options behind a question mark", remedy="Set index_options instead.")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return Server(
        shown=f"{parts.scheme}://{host}:{port}/{prefix}",
        url=f"{kind.schemes[parts.scheme][0]}://{host}:{port}",
        prefix=prefix,
        login=_login(parts),
        secrets=tuple(secret for secret in (settings.index_api_key, unquote(parts.password or "")) if secret),
    )


def need(package: str, extra: str) -> None:
    """Raise if a database's client is not installed: otherwise a leg would fail later."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"the vector database needs the package {package!r}, which is not installed",
            remedy=f'pip install "footnotes[{extra}]"',
        )


def check_legs(settings: Settings, name: str, legs: frozenset[str]) -> None:
    """Raise on legs that a database does not serve."""
    for leg in settings.index_legs:
        if leg not in legs:
            raise ConfigError(
                f"the setting index_legs names {leg!r}, which {name} does not serve",
                remedy=f"Name some of {', '.join(sorted(legs))}.",
            )


def check_seconds(settings: Settings) -> None:
    if settings.index_seconds <= 0:
        raise ConfigError("the setting index_seconds must be above 0")


def check_key(key: str) -> None:
    """Raise on a key that an HTTP header cannot hold, before anything is sent."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError("the setting index_api_key has characters that no key has")


def _split(address: str, kind: Kind) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(address)
        port = parts.port if parts.port is not None else kind.schemes.get(parts.scheme, ("", 0))[1]
    except ValueError as error:
        raise ConfigError("the setting index is not an address", remedy=kind.remedy) from error
    if parts.scheme not in kind.schemes or not parts.hostname or not port:
        raise ConfigError(f"the setting index is not the address of a {kind.name}", remedy=kind.remedy)
    if not _HOST.fullmatch(parts.hostname):
        raise ConfigError("the host in the setting index has characters that no host has", remedy=kind.remedy)
    return parts, port


def _login(parts: SplitResult) -> dict[str, str]:
    if not (parts.username or parts.password):
        return {}
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
