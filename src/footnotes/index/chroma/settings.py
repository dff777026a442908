"""Parses and checks Chroma's settings: `index`, `index_legs` and `index_options`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footnotes.errors import ConfigError
from footnotes.index.address import NAME, PREFIX, Kind, Server, check_key, check_legs, check_seconds, server_of
from footnotes.settings import Settings

LEGS = frozenset({"dense"})
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_REMEDY = "Write it as chroma://host:8000/prefix, chroma+https://… where it is served over TLS, or chroma:FOLDER."
_KIND = Kind("Chroma", {"chroma": ("http", 8000), "chroma+https": ("https", 443)}, _REMEDY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`index_options` for Chroma. Options of the graph apply when a collection is created."""

    tenant: str = "default_tenant"  # Chroma's own tenant, which must exist
    database: str = "default_database"  # Chroma's own database in it, which must exist
    auth_header: str = "Authorization"  # the header that carries index_api_key; x-chroma-token for Chroma Cloud
    batch: int = 500  # chunks sent at once
    ef_construction: int = 128  # candidates considered when a chunk is added to the graph
    max_neighbors: int = 16  # edges of a chunk in the graph
    ef_search: int = 256  # candidates considered in a search of the graph


_MOST: Mapping[str, int] = {"batch": 5_000, "ef_construction": 4_096, "max_neighbors": 256, "ef_search": 10_000}
_LEAST: Mapping[str, int] = {"batch": 1, "ef_construction": 4, "max_neighbors": 2, "ef_search": 1}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parsed address of Chroma: a server's `url`, or a `folder`. Secrets in it are never shown."""

    shown: str
    prefix: str
    seconds: float
    options: Options
    url: str = ""
    folder: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def endpoint_of(settings: Settings) -> Endpoint:
    """Parse the address in the settings, without connecting."""
    check_legs(settings, "Chroma", LEGS)
    check_seconds(settings)
    options = options_of(settings.index_options)
    scheme, _, rest = settings.index.partition(":")
    if scheme == "chroma" and not rest.startswith("//"):
        return _folder(rest, settings.index_seconds, options)
    return _server(settings, options)


def _folder(path: str, seconds: float, options: Options) -> Endpoint:
    if not path.strip() or "\0" in path:
        raise ConfigError("the setting index names no folder", remedy=_REMEDY)
    try:
        folder = Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError("the folder in the setting index is that of an unknown user", remedy=_REMEDY) from error
    return Endpoint(f"chroma:{folder}", PREFIX, seconds, options, folder=folder)


def _server(settings: Settings, options: Options) -> Endpoint:
    server = server_of(settings, _KIND)
    return Endpoint(
        server.shown,
        server.prefix,
        settings.index_seconds,
        options,
        url=server.url,
        headers=_headers(server, settings.index_api_key, options.auth_header),
        secrets=server.secrets,
    )


def _headers(server: Server, key: str, header: str) -> dict[str, str]:
    """Return the login header. Chroma 1.x needs no login, but a proxy in front of it may.

    Most proxies expect a bearer token, Chroma Cloud `x-chroma-token`, and the rest a user and a password.
    """
    if not key:
        return dict(server.login)
    check_key(key)
    if server.login and header.lower() == "authorization":
        raise ConfigError(
            "the setting index has a user and a password, and index_api_key would take their place",
            remedy="Leave one of them out, or name another header in index_options as auth_header.",
        )
    return {header: f"Bearer {key}" if header.lower() == "authorization" else key, **server.login}


def options_of(values: Mapping[str, Any]) -> Options:
    """Parse the options. Raises on wrong types and values out of bounds."""
    defaults = {item.name: item.default for item in dataclasses.fields(Options)}
    for name, value in values.items():
        if name not in defaults:
            raise ConfigError(
                f"index_options has no {name!r} for Chroma", remedy=f"Use some of {', '.join(sorted(defaults))}."
            )
        if type(value) is not type(defaults[name]):
            raise ConfigError(f"{name} in index_options must be of the kind {type(defaults[name]).__name__}")
        if isinstance(value, int) and not _LEAST[name] <= value <= _MOST[name]:
            raise ConfigError(f"{name} in index_options must be between {_LEAST[name]} and {_MOST[name]}")
        if isinstance(value, str) and not (_HEADER if name == "auth_header" else NAME).fullmatch(value):
            raise ConfigError(f"{name} in index_options has characters that it may not have")
    return Options(**values)
