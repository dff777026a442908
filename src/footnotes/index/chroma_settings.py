"""Where a Chroma is and how it is to be used: the settings `index`, `index_legs` and `index_options`, checked."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from footnotes.config import Settings
from footnotes.errors import ConfigError

LEGS = frozenset({"dense"})
PREFIX = "footnotes"
_SCHEMES: Mapping[str, tuple[str, int]] = {"chroma": ("http", 8000), "chroma+https": ("https", 443)}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_REMEDY = "Write it as chroma://host:8000/prefix, chroma+https://… where it is served over TLS, or chroma:FOLDER."


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`index_options` for Chroma. What concerns the graph is applied when a collection is made."""

    tenant: str = "default_tenant"  # Chroma's own tenant, which must exist
    database: str = "default_database"  # Chroma's own database in it, which must exist
    auth_header: str = "Authorization"  # the header that carries index_api_key; x-chroma-token for Chroma Cloud
    batch: int = 500  # chunks sent at once
    ef_construction: int = 128  # candidates looked at when a chunk is put into the graph
    max_neighbors: int = 16  # edges of a chunk in the graph
    ef_search: int = 256  # candidates looked at in a search of the graph


_MOST: Mapping[str, int] = {"batch": 5_000, "ef_construction": 4_096, "max_neighbors": 256, "ef_search": 10_000}
_LEAST: Mapping[str, int] = {"batch": 1, "ef_construction": 4, "max_neighbors": 2, "ef_search": 1}


@dataclass(frozen=True, slots=True)
class Place:
    """A Chroma's address, taken apart: a server's `url`, or a `folder`. What is secret of it is never shown."""

    shown: str
    prefix: str
    seconds: float
    options: Options
    url: str = ""
    folder: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def place_of(settings: Settings) -> Place:
    """The address in the settings; opens nothing."""
    _check_legs(settings)
    if settings.index_seconds <= 0:
        raise ConfigError("the setting index_seconds must be above 0")
    options = options_of(settings.index_options)
    scheme, _, rest = settings.index.partition(":")
    if scheme == "chroma" and not rest.startswith("//"):
        return _folder(rest, settings.index_seconds, options)
    return _server(settings, options)


def _folder(path: str, seconds: float, options: Options) -> Place:
    if not path.strip() or "\0" in path:
        raise ConfigError("the setting index names no folder", remedy=_REMEDY)
    try:
        folder = Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError("the folder in the setting index is that of an unknown user", remedy=_REMEDY) from error
    return Place(f"chroma:{folder}", PREFIX, seconds, options, folder=folder)


def _server(settings: Settings, options: Options) -> Place:
    parts, port = _split(settings.index)
    prefix = parts.path.strip("/") or PREFIX
    if not _NAME.fullmatch(prefix):
        raise ConfigError("the prefix in the setting index has characters that no collection may have", remedy=_REMEDY)
    if parts.query or parts.fragment:
        raise ConfigError("the setting index has options behind a question mark", remedy="Set index_options instead.")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return Place(
        f"{parts.scheme}://{host}:{port}/{prefix}",
        prefix,
        settings.index_seconds,
        options,
        url=f"{_SCHEMES[parts.scheme][0]}://{host}:{port}",
        headers=_headers(parts, settings.index_api_key, options.auth_header),
        secrets=tuple(secret for secret in (settings.index_api_key, unquote(parts.password or "")) if secret),
    )


def _split(address: str) -> tuple[SplitResult, int]:
    """The parts and the port. The address itself may hold a password, and is not repeated in an error."""
    try:
        parts = urlsplit(address)
        port = parts.port if parts.port is not None else _SCHEMES.get(parts.scheme, ("", 0))[1]
    except ValueError as error:
        raise ConfigError("the setting index is not an address", remedy=_REMEDY) from error
    if parts.scheme not in _SCHEMES or not parts.hostname or not port:
        raise ConfigError("the setting index is not the address of a Chroma", remedy=_REMEDY)
    if not re.fullmatch(r"[\w.:-]+", parts.hostname):
        raise ConfigError("the host in the setting index has characters that no host has", remedy=_REMEDY)
    return parts, port


def _headers(parts: SplitResult, key: str, header: str) -> dict[str, str]:
    """What lets us past whoever guards the server: Chroma 1.x itself asks nobody, a proxy before it may.

    A bearer token is what most proxies want, `x-chroma-token` what Chroma Cloud does, a user and a password what the
    rest do.
    """
    headers = {}
    if key:
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError("the setting index_api_key has characters that no key has")
        headers[header] = f"Bearer {key}" if header.lower() == "authorization" else key
    if parts.username or parts.password:
        if any(name.lower() == "authorization" for name in headers):
            raise ConfigError(
                "the setting index has a user and a password, and index_api_key would take their place",
                remedy="Leave one of them out, or name another header in index_options as auth_header.",
            )
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return headers


def _check_legs(settings: Settings) -> None:
    for leg in settings.index_legs:
        if leg not in LEGS:
            raise ConfigError(
                f"the setting index_legs names {leg!r}, which Chroma does not serve",
                remedy='Leave it out of index_legs: ["dense"].',
            )


def options_of(given: Mapping[str, Any]) -> Options:
    """The options, each of its kind and within its bounds."""
    known = {item.name: item.default for item in dataclasses.fields(Options)}
    for name, value in given.items():
        if name not in known:
            raise ConfigError(
                f"index_options has no {name!r} for Chroma", remedy=f"Use some of {', '.join(sorted(known))}."
            )
        if type(value) is not type(known[name]):
            raise ConfigError(f"{name} in index_options must be of the kind {type(known[name]).__name__}")
        if isinstance(value, int) and not _LEAST[name] <= value <= _MOST[name]:
            raise ConfigError(f"{name} in index_options must be between {_LEAST[name]} and {_MOST[name]}")
        if isinstance(value, str) and not (_HEADER if name == "auth_header" else _NAME).fullmatch(value):
            raise ConfigError(f"{name} in index_options has characters that it may not have")
    return Options(**given)
