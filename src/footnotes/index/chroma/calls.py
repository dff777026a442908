"""One collection in Chroma: the calls to it, and the mark that shows it is ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from footnotes.errors import IndexFailed, IndexForeign, IndexMismatch, IndexMissing
from footnotes.index import Keys, Vector
from footnotes.index.chroma.settings import Endpoint, Options

FORMAT = 1
_MARK, _IDENTITY, _SEQ = "footnotes", "footnotes_identity", "footnotes_seq"
_SPACE = "cosine"
_PAGE = 10_000
IDS_AT_ONCE = 5_000
"""SQLite in Chroma allows 32,766 values per statement; this number is well below, and the answer is fast."""

Where: TypeAlias = dict[str, object]


class Connection(Protocol):
    """A server, or a folder in this process. Both lend the client's `ServerAPI`."""

    def reading(self, name: str) -> AbstractContextManager[Any]: ...

    def writing(self, name: str) -> AbstractContextManager[Any]: ...

    def alone(self, name: str) -> AbstractContextManager[Any]: ...

    def sweep(self) -> bool:
        """Purge deleted data from the files; False if the files are not ours."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class KnownCollection:
    """A collection as last seen: Chroma's record of it, and the last change applied to it."""

    model: Any
    seq: int


class Calls:
    """Calls to the collection of one name. Each may raise an `IndexFailed`."""

    def __init__(self, connection: Connection, endpoint: Endpoint, name: str, identity: str, dimensions: int) -> None:
        self.name = name
        self.endpoint = endpoint
        self._connection = connection
        self._identity = identity
        self._dimensions = dimensions
        self._where = {"tenant": endpoint.options.tenant, "database": endpoint.options.database}

    # ── the collection as a whole

    def look(self) -> KnownCollection | None:
        """Return the current collection; None if missing. Raises if it is not ours."""
        try:
            with self._connection.reading(self.name) as client:
                model = client.get_collection(self.name, **self._where)
        except IndexMissing:
            return None
        return self._describe(model)

    def make(self, *, seq: int = 0) -> KnownCollection:
        """Return the collection; create an empty one if it is missing."""
        with self._connection.writing(self.name) as client:
            model = client.create_collection(
                self.name,
                configuration={"hnsw": _graph(self.endpoint.options)},
                metadata=self._metadata_with(seq),
                get_or_create=True,
                **self._where,
            )
        return self._describe(model)

    def mark(self, known: KnownCollection, seq: int) -> KnownCollection:
        """Record the last change applied to the collection. Chroma does it in one transaction."""
        with self._writing(known) as collection:
            collection.modify(metadata=self._metadata_with(seq))
        current = self.look()  # in a folder, changing a missing collection does not fail
        if current is None or current.model.id != known.model.id:
            raise IndexMissing(f"the collection {self.name} of {self.endpoint.shown} was removed while it was filled")
        return current

    def drop(self) -> None:
        """Remove the collection if it exists."""
        try:
            with self._connection.writing(self.name) as client:
                client.delete_collection(self.name, **self._where)
        except IndexMissing:
            return

    def replace(self, copy: KnownCollection) -> None:
        """Replace the collection with a copy. No reader sees the moment between."""
        with self._connection.alone(self.name) as client:
            client.delete_collection(self.name, **self._where)
            _collection(client, copy.model).modify(name=self.name)

    def sweep(self) -> bool:
        return self._connection.sweep()

    def _metadata_with(self, seq: int) -> dict[str, object]:
        return {_MARK: FORMAT, _IDENTITY: self._identity, _SEQ: seq}

    def _describe(self, model: Any) -> KnownCollection:
        mark: Mapping[str, object] = model.metadata or {}
        seq = mark.get(_SEQ)
        if not isinstance(mark.get(_MARK), int) or not isinstance(seq, int):
            raise IndexForeign(f"the collection {self.name} of {self.endpoint.shown} was not made by Footnotes")
        if (mark[_MARK], mark.get(_IDENTITY)) != (FORMAT, self._identity):
            return KnownCollection(model, -1)
        self._check(model)
        return KnownCollection(model, seq)

    def _check(self, model: Any) -> None:
        space = ((model.configuration_json or {}).get("hnsw") or {}).get("space", _SPACE)
        if space != _SPACE:
            raise IndexMismatch(
                f"the collection {self.name} of {self.endpoint.shown} compares by {space}, not by cosine"
            )
        if model.dimension not in (None, self._dimensions):
            raise IndexMismatch(
                f"the collection {self.name} of {self.endpoint.shown} has vectors of {model.dimension} dimensions, "
                f"and the model makes {self._dimensions}"
            )

    # ── its records

    def count(self, known: KnownCollection) -> int:
        with self._reading(known) as collection:
            return int(collection.count())

    def query(
        self, known: KnownCollection, vector: Vector, limit: int, **restriction: Any
    ) -> tuple[list[int], list[float]]:
        """Return the nearest keys and their cosines, as the graph finds them."""
        with self._reading(known) as collection:
            found = collection.query(
                query_embeddings=vector.reshape(1, -1), n_results=limit, include=["distances"], **restriction
            )
        return self.keys_of(found["ids"][0]), [1.0 - distance for distance in found["distances"][0]]

    def vectors(self, known: KnownCollection, keys: Keys) -> tuple[Keys, Vector]:
        """Return the given keys that exist, and their vectors."""
        with self._reading(known) as collection:
            found = collection.get(ids=ids_of(keys.tolist()), include=["embeddings"])
        rows = np.asarray(found["embeddings"], dtype=np.float32).reshape(len(found["ids"]), -1)
        return np.array(self.keys_of(found["ids"]), dtype=np.int64), rows

    def existing(self, known: KnownCollection, ids: Sequence[str]) -> list[str]:
        """Return the given ids that exist."""
        found: list[str] = []
        for start in range(0, len(ids), IDS_AT_ONCE):
            with self._reading(known) as collection:
                found.extend(collection.get(ids=list(ids[start : start + IDS_AT_ONCE]), include=[])["ids"])
        return found

    def metadata_of(self, known: KnownCollection, **restriction: object) -> dict[str, dict[str, object]]:
        """Return the metadata of some records, by id."""
        with self._reading(known) as collection:
            found = collection.get(include=["metadatas"], **restriction)
        return {record: dict(metadata or {}) for record, metadata in zip(found["ids"], found["metadatas"], strict=True)}

    def pages(self, known: KnownCollection, where: Where | None = None, page: int = _PAGE) -> Iterator[list[int]]:
        """Yield the keys of all or some records, page by page."""
        offset = 0
        while True:
            with self._reading(known) as collection:
                found = collection.get(where=where, limit=page, offset=offset, include=[])["ids"]
            yield self.keys_of(found)
            if len(found) < page:
                return
            offset += len(found)

    def put(self, known: KnownCollection, ids: list[str], vectors: Vector, metadatas: list[dict[str, object]]) -> None:
        with self._writing(known) as collection:
            collection.upsert(ids=ids, embeddings=vectors, metadatas=metadatas)

    def delete(self, known: KnownCollection, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), self.batch):
            with self._writing(known) as collection:
                collection.delete(ids=list(ids[start : start + self.batch]))

    def records(self, known: KnownCollection, page: int) -> Iterator[tuple[list[str], Vector, list[dict[str, object]]]]:
        """Yield all records, page by page."""
        offset = 0
        while True:
            with self._reading(known) as collection:
                found = collection.get(limit=page, offset=offset, include=["embeddings", "metadatas"])
            if found["ids"]:
                yield found["ids"], np.asarray(found["embeddings"], dtype=np.float32), found["metadatas"]
            if len(found["ids"]) < page:
                return
            offset += len(found["ids"])

    @property
    def batch(self) -> int:
        """The most records to send at once."""
        with self._connection.reading(self.name) as client:
            return max(1, min(self.endpoint.options.batch, int(client.get_max_batch_size())))

    def keys_of(self, ids: Sequence[str]) -> list[int]:
        try:
            return [int(record) for record in ids]
        except ValueError:
            raise IndexForeign(
                f"the collection {self.name} of {self.endpoint.shown} has records that Footnotes did not put there"
            ) from None

    @contextmanager
    def _reading(self, known: KnownCollection) -> Iterator[Any]:
        with self._connection.reading(self.name) as client:
            yield _collection(client, known.model)

    @contextmanager
    def _writing(self, known: KnownCollection) -> Iterator[Any]:
        with self._connection.writing(self.name) as client:
            yield _collection(client, known.model)


def ids_of(keys: Sequence[int]) -> list[str]:
    return [str(key) for key in keys]


def chunk_vector(raw: bytes, dimensions: int, key: int) -> Vector:
    """Convert a vector from the store to Chroma's precision."""
    vector = np.frombuffer(raw, dtype=np.float16).astype(np.float32)
    if len(vector) != dimensions or not np.isfinite(vector).all():
        raise IndexFailed(f"the stored vector of chunk {key} is damaged", remedy="Run `footnotes verify`.")
    return vector


def _graph(options: Options) -> dict[str, object]:
    return {
        "space": _SPACE,
        "ef_construction": options.ef_construction,
        "max_neighbors": options.max_neighbors,
        "ef_search": options.ef_search,
    }


def _collection(client: Any, model: Any) -> Any:
    """Return a collection without an embedding function: Chroma would download a model for one."""
    from chromadb.api.models.Collection import Collection

    return Collection(client=client, model=model, embedding_function=None)
