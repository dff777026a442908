"""Addresses after --from: chroma://host:8000/COLLECTION, chroma:FOLDER#COLLECTION, qdrant://…, json:FILE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from footnotes.errors import OptionError
from footnotes.ingest.importing.json_file import JsonReader
from footnotes.ingest.importing.records import ImportOptions, Reader
from footnotes.settings import Settings

_PORTS = {"chroma": 8000, "chroma+https": 443, "qdrant": 6333, "qdrant+https": 6333}
_KNOWN = (
    "Write chroma://host:8000/COLLECTION, chroma:FOLDER#COLLECTION, qdrant://host:6333/COLLECTION or json:FILE; "
    "chroma+https:// and qdrant+https:// are encrypted."
)

_NAMES_A_KEY = re.compile(r"(?i)(key|token|secret|password)[^=&]*=")


@dataclass(frozen=True, slots=True)
class Address:
    """A collection of a server. `authority` is host and port, `parameters` is the query."""

    kind: str
    scheme: str
    authority: str
    path: str
    collection: str
    parameters: dict[str, str]

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def text(self) -> str:
        encrypted = "+https" if self.scheme == "https" else ""
        return f"{self.kind}{encrypted}://{self.authority}{self.path}/{self.collection}"


def build_reader(source: str, options: ImportOptions, settings: Settings, *, dimensions: int) -> Reader:
    """Build the reader of a source. Nothing is opened yet."""
    kind, colon, rest = source.partition(":")
    if kind == "json" and rest:
        return JsonReader(Path(rest).expanduser())
    if kind == "chroma" and rest and not rest.startswith("//"):
        from footnotes.ingest.importing.chroma import ChromaFolderReader

        folder, _, collection = rest.rpartition("#") if "#" in rest else (rest, "", "")
        return ChromaFolderReader(Path(folder).expanduser(), collection)
    if not colon or not rest.startswith("//") or kind not in _PORTS:
        raise OptionError("the address after --from names no collection", remedy=_KNOWN)
    address = parse_address(source)
    if address.kind == "chroma":
        from footnotes.ingest.importing.chroma import ChromaServerReader

        return ChromaServerReader(address, settings, key_for(address, settings))
    from footnotes.ingest.importing.qdrant import QdrantReader

    return QdrantReader(address, settings, key_for(address, settings), vector=options.vector, dimensions=dimensions)


def parse_address(source: str) -> Address:
    """Parse the address of a server's collection. Raises if it holds a key: others can read command lines."""
    try:
        parts = urlsplit(source)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise OptionError("the address after --from is invalid", remedy=_KNOWN) from error
    kind, _, encrypted = parts.scheme.partition("+")
    if not host:
        raise OptionError("the address after --from names no host", remedy=_KNOWN)
    if "@" in parts.netloc or _NAMES_A_KEY.search(parts.query):
        raise OptionError(
            "the address must not contain a key, because others can read it",
            remedy="Set import_api_key in the settings, or FOOTNOTES_IMPORT_API_KEY in the environment.",
        )
    host_text = f"[{host}]" if ":" in host else host
    before, _, collection = parts.path.rstrip("/").rpartition("/")
    parameters = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    scheme = "https" if encrypted else "http"
    return Address(kind, scheme, f"{host_text}:{port or _PORTS[parts.scheme]}", before, unquote(collection), parameters)


def key_for(address: Address, settings: Settings) -> str:
    """Find the key of a source. The key of the library's own vector database is only sent to that database."""
    if settings.import_api_key or not settings.index_api_key or "://" not in settings.index:
        return settings.import_api_key
    try:
        own = parse_address(settings.index)
    except (OptionError, KeyError):
        return ""
    same = (own.kind, own.scheme, own.authority) == (address.kind, address.scheme, address.authority)
    return settings.index_api_key if same else ""
