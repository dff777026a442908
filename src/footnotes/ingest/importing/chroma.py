"""Reads a collection of Chroma: from its server, or from a folder through Chroma's own package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from footnotes.errors import MissingExtra, SourceUnreadable
from footnotes.ingest.importing.addresses import Address
from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.importing.server import Missing, VectorServer, missing_collection
from footnotes.ingest.names import as_text, lasting
from footnotes.settings import Settings

PAGE = 256
_INCLUDED = ["documents", "metadatas", "embeddings"]


class ChromaServerReader:
    """`chroma://host:8000/COLLECTION`; with `?tenant=…&database=…` unless they are the defaults."""

    def __init__(self, address: Address, settings: Settings, key: str) -> None:
        self._address = address
        self.origin = address.text
        self.notes: list[str] = []
        headers = {"authorization": f"Bearer {key}", "x-chroma-token": key} if key else {}
        self._server = VectorServer("Chroma", address, settings, headers, key)
        parameters = address.parameters
        tenant, database = parameters.get("tenant", "default_tenant"), parameters.get("database", "default_database")
        self._base = f"api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}/collections"
        self._id = ""

    def __enter__(self) -> ChromaServerReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def count(self) -> int:
        self._collection_id()
        return 0

    def records(self) -> Iterator[SourceRecord]:
        path, offset = f"{self._base}/{quote(self._collection_id(), safe='')}/get", 0
        last = ""
        while True:
            page = self._server.post(path, {"limit": PAGE, "offset": offset, "include": _INCLUDED})
            found = self._parse_page(page)
            if found and found[-1].id == last:
                raise self._server.unexpected_answer("the same page again and again")
            yield from found
            if len(found) < PAGE:
                return
            offset, last = offset + PAGE, found[-1].id

    def _parse_page(self, page: Mapping[str, object]) -> list[SourceRecord]:
        try:
            return records_in(page)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._server.unexpected_answer(f"{type(error).__name__} in a page of records") from error

    def _collection_id(self) -> str:
        """Look up the collection's id by its name."""
        name = self._address.collection
        if not self._id and name:
            try:
                parameters = self._server.get(f"{self._base}/{quote(name, safe='')}")
                self._id = str(parameters["id"])
            except Missing:
                pass
            except (KeyError, TypeError) as error:
                raise self._server.unexpected_answer("a collection without an id") from error
        if not self._id:
            raise missing_collection(name, self.origin.rpartition("/")[0], self._names())
        return self._id

    def _names(self) -> list[str]:
        try:
            return [str(each["name"]) for each in self._server.get(self._base)]
        except Missing as error:  # the tenant or the database is missing, or the server is not Chroma
            raise self._server.unexpected_answer(str(error)) from error
        except (KeyError, TypeError) as error:
            raise self._server.unexpected_answer("a list of collections without names") from error


class ChromaFolderReader:
    """`chroma:FOLDER#COLLECTION`."""

    def __init__(self, folder: Path, collection: str) -> None:
        self._folder = folder
        self._name = collection
        self.origin = f"chroma:{as_text(lasting(folder))}#{collection}"
        self.notes: list[str] = []
        self._client: Any = None
        self._collection: Any = None

    def __enter__(self) -> ChromaFolderReader:
        if not (self._folder / "chroma.sqlite3").is_file():
            raise SourceUnreadable(f"{self._folder} is not a Chroma folder: it has no chroma.sqlite3")
        try:
            import chromadb
            from chromadb.config import Settings as ChromaSettings
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"a folder of Chroma needs the package {error.name!r}, which is not installed",
                remedy='pip install "footnotes[chroma]"',
            ) from error
        try:
            quiet = ChromaSettings(anonymized_telemetry=False)
            self._client = chromadb.PersistentClient(path=str(self._folder), settings=quiet)
            self._collection = self._open_collection()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, Exception) and not isinstance(error, SourceUnreadable):
                raise SourceUnreadable(f"Chroma cannot read {self._folder} ({error})") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def count(self) -> int:
        return int(self._collection.count())

    def records(self) -> Iterator[SourceRecord]:
        offset = 0
        while found := records_in(self._collection.get(limit=PAGE, offset=offset, include=_INCLUDED)):
            yield from found
            offset += PAGE

    def _open_collection(self) -> object:
        names = [collection.name for collection in self._client.list_collections()]
        if self._name not in names:
            raise missing_collection(self._name, str(self._folder), names)
        # Without its embedding function: nothing is embedded here, and the function may not be installed.
        return self._client.get_collection(self._name, embedding_function=None)


def records_in(page: Mapping[str, Any]) -> list[SourceRecord]:
    """Return the records of a page. A column that Chroma omits is None for all of them."""
    ids = page["ids"]
    columns = [_column(page.get(name), len(ids)) for name in _INCLUDED]
    return [
        SourceRecord(str(id_), dict(metadata or {}), text, vector)
        for id_, text, metadata, vector in zip(ids, *columns, strict=True)
    ]


def _column(values: Any, count: int) -> list[object]:
    return [None] * count if values is None else list(values)
