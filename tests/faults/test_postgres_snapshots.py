"""Every search on PostgreSQL sees one snapshot: the old version of a document or the new one, never neither or both."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from chroma import ChromaServer
from libraries import quick_library
from postgres import PostgresServer
from qdrant import QdrantServer
from version_changes import Changes, Observer, Seen

_NUMBERS = itertools.count(1)


def observed(folder: Path, address: str, *, searches: int = 1_200, only: str = "", **settings: Any) -> Seen:
    """What another process-like library sees while one library changes."""
    writer = quick_library(folder / "writer", store=address, **settings)
    reader = quick_library(folder / "reader", store=address, **settings)
    with writer, reader:
        changes = Changes(writer, folder / "documents")
        reader.search("warm")
        with Observer(reader) as observer:
            if only:
                while observer.seen.searches < searches:
                    getattr(changes, only)()
            else:
                changes.run(lambda done: observer.seen.searches < searches)
        return observer.seen


def check(seen: Seen, searches: int = 1_200) -> None:
    assert seen.searches >= searches
    assert not seen.wrong, (seen, seen.examples)


@pytest.mark.parametrize("change", ["replace", "reindex"])
def test_no_search_is_empty_handed_while_a_document_changes(
    postgres: PostgresServer, tmp_path: Path, change: str
) -> None:
    check(observed(tmp_path, postgres.fresh(), only=change))


def test_no_search_is_empty_handed_while_everything_changes(postgres: PostgresServer, tmp_path: Path) -> None:
    check(observed(tmp_path, postgres.fresh()))


@pytest.mark.parametrize("legs", [("dense",), ("dense", "lexical")], ids="+".join)
def test_no_search_is_empty_handed_with_a_remote_index(
    postgres: PostgresServer, qdrant_server: QdrantServer, tmp_path: Path, legs: tuple[str, ...]
) -> None:
    index = f"{qdrant_server.address}/snapshots{next(_NUMBERS)}"
    check(observed(tmp_path, postgres.fresh(), searches=600, index=index, index_legs=legs), 600)


def test_no_search_is_empty_handed_with_chroma_beside(
    postgres: PostgresServer, chroma_server: ChromaServer, tmp_path: Path
) -> None:
    index = f"{chroma_server.address}/snapshots{next(_NUMBERS)}"
    check(observed(tmp_path, postgres.fresh(), searches=400, index=index), 400)


def test_the_observer_notices_searches_without_a_snapshot(postgres: PostgresServer, tmp_path: Path) -> None:
    """The same with a function whose statements each see what is committed by then: some search finds nothing."""
    address = postgres.fresh()
    quick_library(tmp_path / "first", store=address).close()
    postgres.execute("ALTER FUNCTION search_chunks VOLATILE", address=address)
    for _ in range(5):
        if observed(tmp_path, address, searches=1_500, only="replace").wrong:
            return
    raise AssertionError("no search went wrong, so the tests above show nothing")
