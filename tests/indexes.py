"""The indexes there are, as the suite of indexes sees them: where each lies, how it breaks, what is in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from footnotes.index import Vector
from footnotes.index.dense_files import SCALE
from footnotes.testing.index_suite import IndexUnderTest, StoreHarness, files_with

_WITH_THE_TRUTH = "it is part of the database that holds the truth: one is away when the other is"


def forms_of(canary: str, vectors: list[Vector]) -> list[bytes]:
    """A word and vectors as files may hold them; half of a vector is enough to know it by."""
    words = [canary.encode(), canary.encode("utf-16-le"), canary[:-1].encode()]
    rows: list[Any] = []
    for vector in vectors:
        rows += [vector.astype(np.float16), vector, np.rint(vector * SCALE).astype(np.int16)]
    return [*words, *(row[: len(row) // 2].tobytes() for row in rows)]


class BesideSqlite(IndexUnderTest):
    """The truth is in a folder."""

    def go_back(self, copy: bool) -> None:
        kept, now = self.harness.folder.parent / "kept.db", self.harness.folder / "footnotes.db"
        shutil.copy(*((now, kept) if copy else (kept, now)))


class InTheFolder(BesideSqlite):
    """An index among the library's own files."""

    silent = True
    never_foreign = "its files carry checksums: whatever somebody writes into them is damage"

    @property
    def folder(self) -> Path:
        return self.harness.folder / "index"

    def folders(self) -> list[Path]:
        """One for each tenant and generation."""
        return [path for path in self.folder.glob("*/*/*") if path.name == self.leg]

    def stop(self) -> None:
        shutil.copytree(self.folder, self.harness.folder.parent / "older")

    def start(self) -> None:
        shutil.rmtree(self.folder)
        (self.harness.folder.parent / "older").rename(self.folder)

    def damages(self) -> dict[str, Callable[[], None]]:
        return {
            "folder deleted": lambda: shutil.rmtree(self.folders()[0]),
            "largest file truncated": lambda: self._written(lambda content: content[: len(content) // 2]),
            "a bit flipped": lambda: self._written(_flipped),
            "a file deleted": lambda: self._largest().unlink(),
        }

    def _largest(self) -> Path:
        endings = (".term", ".idx", ".fast") if self.leg == "lexical" else (".vectors", ".keys")
        return max((path for path in self.folders()[0].iterdir() if path.suffix in endings), key=_size)

    def _written(self, change: Callable[[bytes], bytes]) -> None:
        path = self._largest()
        path.write_bytes(change(path.read_bytes()))

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        return files_with(self.folder, forms_of(canary, vectors))


def _flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


def _size(path: Path) -> int:
    return path.stat().st_size


class Tantivy(InTheFolder):
    name, leg = "tantivy", "lexical"
    writer = "footnotes.index.lexical:LexicalIndex"

    def keys(self) -> set[int]:
        import tantivy

        found: set[int] = set()
        for folder in self.folders():
            searcher = tantivy.Index.open(str(folder)).searcher()
            hits = searcher.search(tantivy.Query.all_query(), limit=max(searcher.num_docs, 1)).hits
            values: Any = searcher.fast_field_values("key", [address for _, address in hits]) if hits else []
            found |= set(values)
        return found


class Usearch(InTheFolder):
    name, leg = "usearch", "dense"
    writer = "footnotes.index.dense:DenseIndex"

    def hasten(self, patch: pytest.MonkeyPatch) -> None:
        from footnotes.index import dense

        patch.setattr(dense, "SCANNED_ROWS", 100)

    def settle(self, library: Any) -> None:
        library.settle()
        assert list(self.folder.rglob("*.usearch")), "there must be a graph to search"

    def keys(self) -> set[int]:
        found: set[int] = set()
        for folder in self.folders():
            content = json.loads((folder / "manifest.json").read_text().partition("\n")[2])
            gone = {key for first, count in content["removed"] for key in range(first, first + count)}
            for segment in content["segments"]:
                found |= set(np.fromfile(folder / f"{segment['name']}.keys", dtype=np.int64).tolist()) - gone
        return found


# ── PostgreSQL


class InPostgres(IndexUnderTest):
    """An index that the database of the truth keeps itself."""

    never_away = never_behind = never_goes_back = _WITH_THE_TRUTH
    never_foreign = "who writes into it writes into the truth"

    def __init__(self, harness: StoreHarness, server: Any) -> None:
        super().__init__(harness)
        self.server = server
        self.address = harness.settings["store"]

    def execute(self, statement: str) -> list[Any]:
        found: list[Any] = self.server.execute(statement, address=self.address)
        return found

    def keys(self) -> set[int]:
        column = "embedding" if self.leg == "dense" else "words"
        return {row[0] for row in self.execute(f"SELECT key FROM document_chunks WHERE {column} IS NOT NULL")}

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        return files_with(self.server.files(self.address), forms_of(canary, vectors))


class Pgvector(InPostgres):
    name, leg = "pgvector", "dense"
    never_damaged = "its vectors are the truth itself, of which nothing is guessed; without its graph all are compared"

    def settle(self, library: Any) -> None:
        library.settle()
        assert self.execute("SELECT 1 FROM pg_indexes WHERE indexname LIKE 'chunks_dense_%'"), "it needs a graph"

    def damages(self) -> dict[str, Callable[[], None]]:
        return {}


class PostgresWords(InPostgres):
    name, leg = "PostgreSQL's words", "lexical"

    def damages(self) -> dict[str, Callable[[], None]]:
        return {
            "statistics deleted": lambda: _run(self, "DELETE FROM statistics"),
            "statistics changed": lambda: _run(self, "UPDATE statistics SET body = body + 7"),
        }


def _run(index: InPostgres, statement: str) -> None:
    index.execute(statement)


# ── vector databases


class Served(BesideSqlite):
    """A server, and collections of one prefix in it."""

    def __init__(self, harness: StoreHarness, server: Any, prefix: str) -> None:
        super().__init__(harness)
        self.server = server
        self.prefix = prefix
        self._away = False
        self._looking = ExitStack()
        self._client: Any = None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Somebody else who looks into it: one for as long as the server runs."""
        if self._client is None:
            self._client = self._looking.enter_context(self.made_client())
        yield self._client

    def made_client(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _look_away(self) -> None:
        self._looking.close()
        self._client = None

    def stop(self) -> None:
        self._look_away()
        self._away = True
        self.server.kill()

    def start(self) -> None:
        self.server.start()
        self._away = False

    def close(self) -> None:
        """The next test starts the server sooner when it has nothing to read."""
        if self._away:
            self.start()
        self.clear()
        self._look_away()

    def clear(self) -> None:
        """Delete all collections of the prefix."""
        raise NotImplementedError


class Qdrant(Served):
    name, leg = "Qdrant", "dense"
    writer = "footnotes.index.qdrant:QdrantIndex"
    in_small_steps: ClassVar[dict[str, Any]] = {"index_options": {"batch": 1}}

    def made_client(self) -> AbstractContextManager[Any]:
        from qdrant import asked

        return asked(self.server)

    def collections(self, client: Any) -> list[str]:
        names = [one.name for one in client.get_collections().collections]
        return [name for name in names if name.startswith(f"{self.prefix}-")]

    def points(self) -> list[tuple[str, Any]]:
        """Every point with all that it says, and the collection it is in."""
        with self.client() as client:
            return [
                (name, point)
                for name in self.collections(client)
                for point in client.scroll(name, limit=10_000, with_payload=True, with_vectors=True)[0]
            ]

    def chunks(self) -> list[tuple[str, Any]]:
        return [(name, point) for name, point in self.points() if "tenant" in point.payload]

    def keys(self) -> set[int]:
        return {int(point.id.replace("-", "")[-16:], 16) for _, point in self.chunks()}

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        from footnotes.store.weights import FIELDS, place
        from footnotes.text.analysis import analyze

        places = {place(field, term) for field in FIELDS for term in analyze(canary)}
        found = []
        for name, point in self.points():
            words = getattr(point.vector.get("lexical"), "indices", [])
            near = any(_same(point.vector.get("dense"), vector) for vector in vectors)
            if canary in str(point.payload) or near or places & set(words):
                found.append(f"{name} {point.id}")
        return found

    def damages(self) -> dict[str, Callable[[], None]]:
        return {
            "collection deleted": self.clear,
            "some points deleted": lambda: self._drop(self.chunks()[:3]),
            "all points deleted": lambda: self._drop(self.points()),
            "foreign points added": self._add_foreign,
            "some deleted, others added": self._exchange,
        }

    def clear(self) -> None:
        with self.client() as client:
            for name in self.collections(client):
                client.delete_collection(name)

    def _drop(self, points: list[tuple[str, Any]]) -> None:
        with self.client() as client:
            for name, point in points:
                client.delete(name, [point.id], wait=True)

    def _add_foreign(self) -> None:
        """Points of our tenant and generation, which no chunk of the store belongs to."""
        (name, point), *_ = self.chunks()
        with self.client() as client:
            for number in range(3):
                client.upsert(name, [_copy(point, f"{point.id[:18]}-0000-{0xABC000 + number:012x}")], wait=True)

    def _exchange(self) -> None:
        self._add_foreign()
        self._drop(self.chunks()[-2:])

    def forge(self, key: int, like: int) -> None:
        points = {int(point.id.replace("-", "")[-16:], 16): (name, point) for name, point in self.chunks()}
        (name, victim), (_, other) = points[key], points[like]
        with self.client() as client:
            client.upsert(name, [_copy(other, victim.id)], wait=True)

    def settle(self, library: Any) -> None:
        """As its owner may: have graphs made of few points already."""
        from qdrant_client import models

        library.settle()
        if self.leg != "dense":
            return
        with self.client() as client:
            (name,) = self.collections(client)
            client.update_collection(
                name,
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=10),
                hnsw_config=models.HnswConfigDiff(full_scan_threshold=10),
            )
            _await(lambda: client.get_collection(name).indexed_vectors_count > 1_000)
            _await(lambda: client.get_collection(name).status == "green")


def _await(reached: Callable[[], bool]) -> None:
    import time

    until = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < until, "the server was not ready in time"
        time.sleep(0.05)


def _copy(point: Any, identifier: str) -> Any:
    from qdrant_client import models

    return models.PointStruct(id=identifier, vector=point.vector, payload=point.payload)


def _same(one: Any, other: Vector) -> bool:
    return one is not None and len(one) == len(other) and bool(np.allclose(one, other, atol=2e-3))


class QdrantWords(Qdrant):
    name, leg = "Qdrant's words", "lexical"


class QdrantBesidePostgres(Qdrant):
    name, leg = "Qdrant beside PostgreSQL", "dense"
    never_goes_back = "a copy of a PostgreSQL is put back by its owner, with tools of its own"


class _ChromaByHand:
    """A Chroma server asked without Chroma's client, which leaves sockets open."""

    def __init__(self, port: int) -> None:
        import httpx

        base = f"http://127.0.0.1:{port}/api/v2/tenants/default_tenant/databases/default_database/collections"
        self._base, self._http = base, httpx.Client(trust_env=False)

    def __enter__(self) -> _ChromaByHand:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def list_collections(self) -> list[_Records]:
        found = self._http.get(self._base, params={"limit": 10_000}).raise_for_status().json()
        return [_Records(self, one["name"], one["id"]) for one in found]

    def delete_collection(self, name: str) -> None:
        self._http.delete(f"{self._base}/{name}").raise_for_status()

    def post(self, identifier: str, what: str, body: dict[str, Any]) -> Any:
        return self._http.post(f"{self._base}/{identifier}/{what}", json=body).raise_for_status().json()


class _Records:
    """A collection there, with the calls that Chroma's own has."""

    def __init__(self, server: _ChromaByHand, name: str, identifier: str) -> None:
        self.name, self._server, self._id = name, server, identifier

    def get(self, **asked: Any) -> Any:
        return self._server.post(self._id, "get", asked)

    def delete(self, **chosen: Any) -> None:
        self._server.post(self._id, "delete", chosen)

    def add(self, **records: Any) -> None:
        self._server.post(self._id, "add", records)

    def upsert(self, **records: Any) -> None:
        self._server.post(self._id, "upsert", records)


class Chroma(Served):
    """A server of Chroma; one in a folder is a server nobody needs to start."""

    name, leg = "Chroma", "dense"
    writer = "footnotes.index.chroma:ChromaIndex"
    in_small_steps: ClassVar[dict[str, Any]] = {"index_options": {"batch": 1}}

    def made_client(self) -> AbstractContextManager[Any]:
        return _ChromaByHand(self.server.port)

    def collections(self, client: Any) -> list[Any]:
        return [one for one in client.list_collections() if one.name.startswith(f"{self.prefix}-")]

    def keys(self) -> set[int]:
        with self.client() as client:
            return {int(key) for one in self.collections(client) for key in one.get(include=[])["ids"]}

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        found = []
        with self.client() as client:
            for collection in self.collections(client):
                all_of_it = collection.get(include=["metadatas", "embeddings", "documents"])
                for number, name in enumerate(all_of_it["ids"]):
                    said = f"{all_of_it['metadatas'][number]} {all_of_it['documents'][number]}"
                    if canary in said or any(_same(all_of_it["embeddings"][number], vector) for vector in vectors):
                        found.append(f"{collection.name} {name}")
        return found

    def damages(self) -> dict[str, Callable[[], None]]:
        return {
            "collection deleted": self.clear,
            "some records deleted": lambda: self._drop(3),
            "all records deleted": lambda: self._drop(10_000),
            "foreign records added": self._add_foreign,
            "some deleted, others added": self._exchange,
        }

    def clear(self) -> None:
        with self.client() as client:
            for collection in self.collections(client):
                client.delete_collection(collection.name)

    def _drop(self, most: int) -> None:
        with self.client() as client:
            for collection in self.collections(client):
                collection.delete(ids=collection.get(include=[])["ids"][:most])

    def _add_foreign(self) -> None:
        with self.client() as client:
            (collection,) = self.collections(client)
            one = collection.get(limit=1, include=["metadatas", "embeddings"])
            for name in ("9000001", "9000002"):
                collection.add(ids=[name], embeddings=one["embeddings"], metadatas=one["metadatas"])

    def _exchange(self) -> None:
        self._drop(2)
        self._add_foreign()

    def forge(self, key: int, like: int) -> None:
        with self.client() as client:
            (collection,) = self.collections(client)
            other = collection.get(ids=[str(like)], include=["metadatas", "embeddings"])
            collection.upsert(ids=[str(key)], embeddings=other["embeddings"], metadatas=other["metadatas"])


class ChromaFolder(Chroma):
    name = "Chroma in a folder"
    silent = True
    beyond_repair = ("database truncated",)

    def __init__(self, harness: StoreHarness, folder: Path) -> None:
        super().__init__(harness, None, "footnotes")
        self.folder = folder

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Another program that opens the folder, looks and goes."""
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

        client: Any = chromadb.PersistentClient(str(self.folder), Settings(anonymized_telemetry=False))
        try:
            yield client
        finally:
            client._system.stop()
            SharedSystemClient.clear_system_cache()

    def close(self) -> None:
        """Nothing runs."""

    def stop(self) -> None:
        shutil.copytree(self.folder, self.folder.parent.parent / "older")

    def start(self) -> None:
        shutil.rmtree(self.folder)
        (self.folder.parent.parent / "older").rename(self.folder)

    def damages(self) -> dict[str, Callable[[], None]]:
        files = {"folder deleted": lambda: shutil.rmtree(self.folder), "database truncated": self._truncate}
        return {**super().damages(), **files}

    def remake(self) -> None:
        shutil.rmtree(self.folder)

    def _truncate(self) -> None:
        path = self.folder / "chroma.sqlite3"
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def residue(self, canary: str, vectors: list[Vector]) -> list[str]:
        return files_with(self.folder, forms_of(canary, vectors))
