"""The suite of indexes, run over every index by name: tantivy, usearch, PostgreSQL, Qdrant and Chroma."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("footnotes.testing.suite", "indexes")

from chroma import ChromaServer  # noqa: E402
from footnotes.testing.index_suite import IndexSuite, StoreHarness  # noqa: E402
from footnotes.testing.suite.index import check_whole, everything  # noqa: E402
from footnotes.testing.suite.index_texts import put  # noqa: E402
from indexes import (  # noqa: E402
    Chroma,
    ChromaFolder,
    Pgvector,
    PostgresWords,
    Qdrant,
    QdrantBesidePostgres,
    QdrantWords,
    Tantivy,
    Usearch,
)
from postgres import PostgresServer  # noqa: E402
from qdrant import QdrantServer, running  # noqa: E402

_NUMBERS = itertools.count(1)
FILES = ("folder deleted", "largest file truncated", "a bit flipped", "a file deleted")
POINTS = (
    "collection deleted",
    "some points deleted",
    "all points deleted",
    "foreign points added",
    "some deleted, others added",
)
RECORDS = tuple(name.replace("points", "records") for name in POINTS)


@pytest.fixture(scope="module")
def own_qdrant() -> Iterator[QdrantServer]:
    """A server that tests of this file alone may stop."""
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def own_chroma() -> Iterator[ChromaServer]:
    """A server that tests of this file alone may stop."""
    pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
    with tempfile.TemporaryDirectory(prefix="fnchroma", ignore_cleanup_errors=True) as folder:
        server = ChromaServer(Path(folder))
        server.start()
        yield server
        server.kill()


class TestTantivy(IndexSuite):
    damages = FILES

    @pytest.fixture
    def index(self, tmp_path: Path) -> Tantivy:
        return Tantivy(StoreHarness(tmp_path / "library"))


class TestUsearch(IndexSuite):
    damages = FILES

    @pytest.fixture
    def index(self, tmp_path: Path) -> Usearch:
        return Usearch(StoreHarness(tmp_path / "library"))


class TestPgvector(IndexSuite):
    damages = ()

    @pytest.fixture
    def index(self, tmp_path: Path, postgres: PostgresServer) -> Pgvector:
        settings = {"store": postgres.fresh(), "dense_index_options": {"minimum": 1}}
        return Pgvector(StoreHarness(tmp_path / "library", settings), postgres)

    def test_without_its_graph_it_finds_the_same(self, index: Pgvector) -> None:
        with index.open() as library:
            for number in range(6):
                put(library, number)
            index.settle(library)
            by_graph = everything(library, "dense", "heading=Part 1")
            index.execute("DROP INDEX chunks_dense_1")
            assert everything(library, "dense", "heading=Part 1") == by_graph
            check_whole(index, library)
            index.settle(library)


class TestPostgresWords(IndexSuite):
    damages = ("statistics deleted", "statistics changed")

    @pytest.fixture
    def index(self, tmp_path: Path, postgres: PostgresServer) -> PostgresWords:
        return PostgresWords(StoreHarness(tmp_path / "library", {"store": postgres.fresh()}), postgres)


class TestQdrantDense(IndexSuite):
    damages = POINTS

    @pytest.fixture
    def index(self, tmp_path: Path, own_qdrant: QdrantServer) -> Iterator[Qdrant]:
        prefix = f"dense{next(_NUMBERS)}"
        made = Qdrant(
            StoreHarness(tmp_path / "library", {"index": f"{own_qdrant.address}/{prefix}"}), own_qdrant, prefix
        )
        yield made
        made.close()


class TestQdrantLexical(IndexSuite):
    damages = POINTS

    @pytest.fixture
    def index(self, tmp_path: Path, own_qdrant: QdrantServer) -> Iterator[QdrantWords]:
        prefix = f"words{next(_NUMBERS)}"
        settings = {"index": f"{own_qdrant.address}/{prefix}", "index_legs": ["lexical"]}
        made = QdrantWords(StoreHarness(tmp_path / "library", settings), own_qdrant, prefix)
        yield made
        made.close()


class TestQdrantBesidePostgres(IndexSuite):
    damages = POINTS

    @pytest.fixture
    def index(
        self, tmp_path: Path, postgres: PostgresServer, own_qdrant: QdrantServer
    ) -> Iterator[QdrantBesidePostgres]:
        prefix = f"beside{next(_NUMBERS)}"
        settings = {"store": postgres.fresh(), "index": f"{own_qdrant.address}/{prefix}"}
        made = QdrantBesidePostgres(StoreHarness(tmp_path / "library", settings), own_qdrant, prefix)
        yield made
        made.close()


class TestChromaFolder(IndexSuite):
    damages = (*RECORDS, "folder deleted", "database truncated")

    @pytest.fixture
    def index(self, tmp_path: Path) -> ChromaFolder:
        pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
        folder = tmp_path / "library" / "vectors"
        return ChromaFolder(StoreHarness(tmp_path / "library", {"index": f"chroma:{folder}"}), folder)


class TestChromaServer(IndexSuite):
    damages = RECORDS

    @pytest.fixture
    def index(self, tmp_path: Path, own_chroma: ChromaServer) -> Iterator[Chroma]:
        prefix = f"suite{next(_NUMBERS)}"
        made = Chroma(
            StoreHarness(tmp_path / "library", {"index": f"{own_chroma.address}/{prefix}"}), own_chroma, prefix
        )
        yield made
        made.close()
