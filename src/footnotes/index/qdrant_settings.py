"""Where a Qdrant is and how it is to be used: the settings `index`, `index_legs` and `index_options`, checked."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from footnotes.config import Settings
from footnotes.errors import ConfigError

LEGS = frozenset({"dense", "lexical"})
PORT = 6333
PREFIX = "footnotes"
_SCHEMES: Mapping[str, str] = {"qdrant": "http", "qdrant+https": "https"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_REMEDY = "Write it as qdrant://host:6333/prefix, or qdrant+https://… where it is served over TLS."


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`index_options` for Qdrant. What concerns a collection is applied when it is made, and not to one there is."""

    shards: int = 0  # shards of a collection in a cluster; 0 leaves it to the server
    replicas: int = 0  # copies of each shard; 0 leaves it to the server
    write_consistency: int = 0  # replicas that must have a write before it counts; 0 leaves it to the server
    ordering: str = "weak"  # weak, medium or strong: how writes to replicas are ordered
    on_disk: bool = False  # vectors, graph and sparse index are read from disk in place of memory
    payload_on_disk: bool = True  # what is told of each chunk is read from disk; the fields searched by stay in memory
    quantization: str = ""  # "int8" or "binary": smaller vectors find candidates, the full ones decide
    m: int = 16  # edges of a chunk in the graph
    tenant_graphs: bool = False  # graphs of each large tenant alone and none across: for thousands of small tenants
    ef_construct: int = 100  # candidates looked at when a chunk is put into the graph
    search_ef: int = 128  # candidates looked at in a search of the graph
    batch: int = 500  # chunks sent at once
    grpc_port: int = 0  # port of gRPC, mostly 6334; 0 means that HTTP is used, which is as quick


_LEAST: Mapping[str, int] = {"m": 2, "ef_construct": 4, "search_ef": 1, "batch": 1}
_MOST: Mapping[str, int] = {"m": 256, "ef_construct": 4096, "search_ef": 65_536, "batch": 10_000, "grpc_port": 65_535}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "ordering": ("weak", "medium", "strong"),
    "quantization": ("", "int8", "binary"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A Qdrant's address, taken apart. What is secret of it is never shown."""

    shown: str
    url: str
    prefix: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def place_of(settings: Settings) -> Place:
    """The address in the settings; opens nothing."""
    parts, port = _split(settings.index)
    prefix = parts.path.strip("/") or PREFIX
    if not _NAME.fullmatch(prefix):
        raise ConfigError("the prefix in the setting index has characters that no collection may have", remedy=_REMEDY)
    if parts.query or parts.fragment:
        raise ConfigError("the setting index has options behind a question mark", remedy="Set index_options instead.")
    if settings.index_seconds <= 0:
        raise ConfigError("the setting index_seconds must be above 0")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    headers = _headers(parts, settings.index_api_key)
    return Place(
        shown=f"{parts.scheme}://{host}:{port}/{prefix}",
        url=f"{_SCHEMES[parts.scheme]}://{host}:{port}",
        prefix=prefix,
        seconds=settings.index_seconds,
        headers=headers,
        secrets=tuple(secret for secret in (settings.index_api_key, unquote(parts.password or "")) if secret),
    )


def _split(address: str) -> tuple[SplitResult, int]:
    """The parts and the port. The address itself may hold a password, and is not repeated in an error."""
    try:
        parts = urlsplit(address)
        port = PORT if parts.port is None else parts.port
    except ValueError as error:
        raise ConfigError("the setting index is not an address", remedy=_REMEDY) from error
    if parts.scheme not in _SCHEMES or not parts.hostname or not port:
        raise ConfigError("the setting index is not the address of a Qdrant", remedy=_REMEDY)
    if not re.fullmatch(r"[\w.:-]+", parts.hostname):
        raise ConfigError("the host in the setting index has characters that no host has", remedy=_REMEDY)
    return parts, port


def _headers(parts: SplitResult, key: str) -> dict[str, str]:
    """The key as the server wants it, and a user and password as a proxy before it may."""
    headers = {}
    if key:
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError("the setting index_api_key has characters that no key has")
        headers["api-key"] = key
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return headers


def check_legs(settings: Settings) -> None:
    for leg in settings.index_legs:
        if leg not in LEGS:
            raise ConfigError(
                f"the setting index_legs names {leg!r}, which Qdrant does not serve",
                remedy=f"Name some of {', '.join(sorted(LEGS))}.",
            )


def options_of(given: Mapping[str, Any]) -> Options:
    """`index_options`, each checked against its field."""
    fields = {one.name: one for one in dataclasses.fields(Options)}
    for name, value in given.items():
        if name not in fields:
            raise ConfigError(
                f"index_options has {name!r}, which Qdrant does not know", remedy=f"Known: {', '.join(fields)}."
            )
        _check(name, value, fields[name].default)
    return Options(**given)


def _check(name: str, value: Any, default: Any) -> None:
    if type(value) is not type(default):
        raise ConfigError(f"{name} in index_options must be {_KINDS[type(default)]}, not {value!r}")
    if isinstance(value, str) and value not in _CHOICES[name]:
        allowed = ", ".join(choice or '""' for choice in _CHOICES[name])
        raise ConfigError(f"{name} in index_options cannot be {value!r}", remedy=f"Allowed: {allowed}.")
    if type(value) is int and not _LEAST.get(name, 0) <= value <= _MOST.get(name, 1_000):
        raise ConfigError(
            f"{name} in index_options cannot be {value}",
            remedy=f"From {_LEAST.get(name, 0)} to {_MOST.get(name, 1_000)}.",
        )


_KINDS: Mapping[type, str] = {int: "a whole number", bool: "true or false", str: "text"}
