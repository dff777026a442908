"""A search sees one snapshot: the old version of a document or the new one, always one of them, never both."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import StoreFull
from footnotes.library import Library
from footnotes.store.sqlite.indexes import Indexes
from qdrant import QdrantServer
from snapshots import Tally, open_library, replace, run, text

SEARCHES = int(os.environ.get("FOOTNOTES_SNAPSHOT_SEARCHES", "600"))
_NUMBERS = itertools.count(1)


@pytest.fixture(params=["folder", "folder and qdrant", "folder and chroma"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "folder and qdrant":
        server: QdrantServer = request.getfixturevalue("qdrant_server")
        return {"index": f"{server.address}/snapshot{next(_NUMBERS)}", "index_api_key": server.api_key}
    if request.param == "folder and chroma":
        pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
        return {"index": f"chroma:{tmp_path / 'chroma'}"}
    return {}


def check(tally: Tally) -> None:
    assert tally.wrong == 0, tally
    assert tally.versions > 2, f"hardly anything was replaced meanwhile: {tally}"


def test_while_a_document_is_replaced(tmp_path: Path, settings: dict[str, Any]) -> None:
    check(run(tmp_path / "library", settings, SEARCHES, replace))


def test_while_a_library_is_indexed_anew_and_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    def write(library: Library, step: int) -> None:
        replace(library, step)
        library.reindex(keep=True)
        library.rollback()

    check(run(tmp_path / "library", settings, SEARCHES, write))


def test_while_a_file_is_renamed(tmp_path: Path) -> None:
    """A file that moves is found under one of its names, and its text is whole."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "name0.txt").write_text(text(1))

    def write(library: Library, step: int) -> None:
        (folder / f"name{step - 1}.txt").rename(folder / f"name{step}.txt")
        library.sync(folder)

    with open_library(tmp_path / "library", {}) as library:
        library.sync(folder)
        document = library.documents()[0].id
        for step in range(1, 40):
            write(library, step)
            found = library.search(
                "kestrel", mode="lexical", where={"filename": f"name{step}.txt"}, limit=50, per_document=1
            )
            assert [hit.document_id for hit in found.hits] == [document]


def test_a_version_that_is_not_shown_yet_takes_no_room_from_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document with more chunks than a search has candidates: none of the version to come is in their way."""
    with open_library(tmp_path / "library", {}) as library:
        long = "\n\n".join(f"The heron number {n} " + "stands still and waits " * 8 for n in range(300))
        library.add_text(long, filename="heron.txt", source="heron", metadata={"v": 1})
        seen: list[tuple[int, set[Any]]] = []
        catch_up = Indexes.catch_up

        def look(*args: Any, **options: Any) -> Any:
            reached = catch_up(*args, **options)
            for mode in ("lexical", "dense"):
                hits = library.search("heron stands still", mode=mode, limit=20, per_document=20).hits
                seen.append((len(hits), {hit.metadata["v"] for hit in hits}))
            return reached

        def look_before(*args: Any, **options: Any) -> Any:
            look(*args, **options) if not seen else None
            return look(*args, **options)

        monkeypatch.setattr(Indexes, "catch_up", look_before)
        library.add_text(long + "\n\nEnd.", filename="heron.txt", source="heron", metadata={"v": 2})
        assert {count for count, _ in seen} == {20}, seen
        assert [versions for _, versions in seen] == [{1}] * 4 + [{2}] * 2, seen


def test_a_version_that_is_gone_takes_no_room_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the step that shows the new version and the indexes that forget the old one."""
    with open_library(tmp_path / "library", {}) as library:
        long = "\n\n".join(f"The heron number {n} " + "stands still and waits " * 8 for n in range(300))
        library.add_text(long, filename="heron.txt", source="heron", metadata={"v": 1})
        store, catch_up, calls = library._store, Indexes.catch_up, itertools.count()

        def once(*args: Any, **options: Any) -> Any:
            if next(calls):
                raise StoreFull("as if the disk were full")
            return catch_up(*args, **options)

        monkeypatch.setattr(Indexes, "catch_up", once)
        with pytest.raises(StoreFull):
            library.add_text(long + "\n\nEnd.", filename="heron.txt", source="heron", metadata={"v": 2})
        for mode in ("lexical", "dense"):
            hits = library.search("heron stands still", mode=mode, limit=20, per_document=20).hits
            assert (len(hits), {hit.metadata["v"] for hit in hits}) == (20, {2})
        monkeypatch.undo()
        with store.writing("local", "testing"):
            pass
        assert library.verify().ok and library.documents()[0].status == "ready"
