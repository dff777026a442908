"""Parses and checks Qdrant's settings: `index`, `index_legs` and `index_options`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from footnotes.errors import ConfigError
from footnotes.index.address import Kind, check_key, server_of
from footnotes.settings import Settings

LEGS = frozenset({"dense", "lexical"})
PORT = 6333
_KIND = Kind(
    "Qdrant",
    {"qdrant": ("http", PORT), "qdrant+https": ("https", PORT)},
    "Write it as qdrant://host:6333/prefix, or qdrant+https://… where it is served over TLS.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`index_options` for Qdrant. Options of a collection apply only when it is created."""

    shards: int = 0  # shards of a collection in a cluster; 0 leaves it to the server
    replicas: int = 0  # copies of each shard; 0 leaves it to the server
    write_consistency: int = 0  # replicas that must confirm a write; 0 leaves it to the server
    ordering: str = "weak"  # weak, medium or strong: how writes to replicas are ordered
    on_disk: bool = False  # vectors, graph and sparse index are read from disk instead of memory
    payload_on_disk: bool = True  # payloads are read from disk; indexed fields stay in memory
    quantization: str = ""  # "int8" or "binary": smaller vectors find candidates, the full ones score them
    m: int = 16  # edges of a chunk in the graph
    tenant_graphs: bool = False  # a graph for each large tenant and none across tenants: for thousands of small tenants
    ef_construct: int = 100  # candidates considered when a chunk is added to the graph
    search_ef: int = 128  # candidates considered in a search of the graph
    batch: int = 500  # chunks sent at once
    grpc_port: int = 0  # port of gRPC, usually 6334; 0 means HTTP, which is as fast


_LEAST: Mapping[str, int] = {"m": 2, "ef_construct": 4, "search_ef": 1, "batch": 1}
_MOST: Mapping[str, int] = {"m": 256, "ef_construct": 4096, "search_ef": 65_536, "batch": 10_000, "grpc_port": 65_535}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "ordering": ("weak", "medium", "strong"),
    "quantization": ("", "int8", "binary"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parsed address of a Qdrant. Secrets in it are never shown."""

    shown: str
    url: str
    prefix: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def endpoint_of(settings: Settings) -> Endpoint:
    """Parse the address in the settings, without connecting."""
    server = server_of(settings, _KIND)
    if settings.index_api_key:
        check_key(settings.index_api_key)
    key = {"api-key": settings.index_api_key} if settings.index_api_key else {}
    return Endpoint(
        server.shown, server.url, server.prefix, settings.index_seconds, {**key, **server.login}, server.secrets
    )


def options_of(values: Mapping[str, Any]) -> Options:
    """Parse `index_options`; each is checked against its field."""
    fields = {one.name: one for one in dataclasses.fields(Options)}
    for name, value in values.items():
        if name not in fields:
            raise ConfigError(
                f"index_options has {name!r}, which Qdrant does not know", remedy=f"Known: {', '.join(fields)}."
            )
        _check(name, value, fields[name].default)
    return Options(**values)


def _check(name: str, value: object, default: object) -> None:
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
