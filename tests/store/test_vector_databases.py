"""The suite of stores, held by those whose legs a vector database serves: nobody can tell that it does.

A Chroma server is held to the suite of indexes alone (`test_indexes.py`): here it would do what its folder does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("footnotes.testing.suite")

from footnotes.testing.store_suite import StoreHarness, StoreSuite  # noqa: E402
from postgres import PostgresServer  # noqa: E402
from qdrant import QdrantServer, asked  # noqa: E402

_NUMBERS = itertools.count(1)
BOTH = ["dense", "lexical"]


@pytest.fixture
def qdrant_place(qdrant_server: QdrantServer) -> Iterator[str]:
    """An address of its own in a real Qdrant; its collections go with the test."""
    prefix = f"suite{next(_NUMBERS)}"
    yield f"{qdrant_server.address}/{prefix}"
    with asked(qdrant_server) as client:
        for collection in client.get_collections().collections:
            if collection.name.startswith(f"{prefix}-"):
                client.delete_collection(collection.name)


class TestSqliteAndQdrant(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path, qdrant_place: str) -> StoreHarness:
        return StoreHarness(tmp_path / "library", {"index": qdrant_place, "index_legs": BOTH})


class TestPostgresAndQdrant(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path, postgres: PostgresServer, qdrant_place: str) -> StoreHarness:
        settings = {"store": postgres.fresh(), "index": qdrant_place, "index_legs": BOTH}
        return StoreHarness(tmp_path / "library", settings)


class TestSqliteAndChromaInAFolder(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        return StoreHarness(tmp_path / "library", {"index": f"chroma:{tmp_path / 'library' / 'vectors'}"})
