"""Versions that are not shown yet take no room."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import StoreFull
from footnotes.store.sqlite.indexes import Indexes
from snapshots import open_library


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
