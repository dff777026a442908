"""Deleted documents are gone from an index too, as seen from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from footnotes.index import Vector
from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.index import IndexUnderTest, check_whole
from footnotes.testing.suite.index_texts import put

CANARY = "zebrafinchquagga"
_SAID = f" The {CANARY} lives here."


def _deleted(library: Library, document: str) -> None:
    library.delete(document)


def _replaced(library: Library, document: str) -> None:
    put(library, 7, said=" A quiet text.", filename="quiet.md", source="victim", metadata={"note": "none"})


_WAYS: dict[str, Callable[[Library, str], None]] = {"deleted": _deleted, "replaced": _replaced}


class Leaving:
    """No id, no word, no metadata and no vector stays."""

    @pytest.mark.parametrize("way", _WAYS)
    def test_nothing_stays_of_what_was_deleted(self, index: IndexUnderTest, way: str) -> None:
        with index.open() as library:
            document, vectors = self._filled(index, library)
            gone = self._keys_of(index, library, document)
            assert gone <= index.keys() and index.residue(CANARY, vectors), "it must be there to begin with"
            _WAYS[way](library, document)
            assert not gone & index.keys() and index.keys() == set(index.truth(library))
            check_whole(index, library)
            library.compact(scrub=True)
        assert index.residue(CANARY, vectors) == []
        with index.open() as library:
            check_whole(index, library)

    @pytest.mark.parametrize("way", _WAYS)
    def test_nothing_stays_of_what_was_deleted_while_it_was_away(self, index: IndexUnderTest, way: str) -> None:
        if index.never_away:
            pytest.skip(f"{index.name}: {index.never_away}")
        with index.open() as library:
            document, vectors = self._filled(index, library)
            gone = self._keys_of(index, library, document)
        index.stop()
        with index.open() as library:
            _WAYS[way](library, document)
        index.start()
        with index.open() as library:
            library.compact(scrub=True)
        assert index.residue(CANARY, vectors) == []
        with index.open() as library:
            assert not gone & index.keys()
            check_whole(index, library)

    def test_nothing_stays_of_a_generation_that_was_dropped(self, index: IndexUnderTest) -> None:
        with index.open() as library:
            self._filled(index, library)
            before = index.keys()
            library.reindex(chunker="window", chunker_options={"size": 200, "overlap": 0}, keep=False)
            assert index.keys() and not index.keys() & before
            check_whole(index, library)
            library.reindex(embedder="hashing:32", keep=False)
        with index.open(embedder=HashingEmbedder(dimensions=32)) as library:
            check_whole(index, library)

    @staticmethod
    def _filled(index: IndexUnderTest, library: Library) -> tuple[str, list[Vector]]:
        for number in range(4):
            put(library, number)
        before = set(index.truth(library))
        about = {"note": CANARY, "tags": [CANARY]}
        document = put(library, 6, said=_SAID, filename=f"{CANARY}.md", source="victim", metadata=about)
        rows = [vector for key, (_, vector) in index.truth(library).items() if key not in before]
        return document, [row for row in rows if row is not None]

    @staticmethod
    def _keys_of(index: IndexUnderTest, library: Library, document: str) -> set[int]:
        names = {chunk.id for chunk in library.chunks(document)}
        return {key for key, (name, _) in index.truth(library).items() if name in names}


def files_with(folder: Path, forms: list[bytes]) -> list[str]:
    """Files below a folder that hold any of some bytes."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in paths if any(form in path.read_bytes() for form in forms)]
