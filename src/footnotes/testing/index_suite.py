"""One suite for every index, whether it is in the library's folder, in its database or remote.

    class TestMyIndex(IndexSuite):
        damages = ("emptied",)

        @pytest.fixture
        def index(self, tmp_path):
            return MyIndex(StoreHarness(tmp_path / "library", {"index": "mine://…"}))

`IndexUnderTest` describes the index to the suite: which leg it serves, how to remove and restore it, how to damage it,
and how to inspect it from outside. It needs pytest and hypothesis (`pip install "footnotes[test]"`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import SearchUnavailable
from footnotes.index import Vector
from footnotes.library import Library
from footnotes.retrieve.where import as_filter
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.index import CountingEmbedder, IndexUnderTest, check_whole, chunk_ids, everything
from footnotes.testing.suite.index_filters import Oracle, SameSet
from footnotes.testing.suite.index_recall import Recall
from footnotes.testing.suite.index_texts import put
from footnotes.testing.suite.index_writers import Writers
from footnotes.types import Condition

# A damaged or foreign index: no wrong result is shown, and it is repaired without a model.


DOCUMENTS = 6


def _filled(library: Library) -> None:
    for number in range(DOCUMENTS):
        put(library, number, metadata={"number": number, "half": number % 2}, collection=f"c{number % 2}")


class Mending:
    """`damages` are names of `IndexUnderTest.damages`, each tested separately."""

    damages: tuple[str, ...] = ()

    @classmethod
    def pytest_generate_tests(cls, metafunc: pytest.Metafunc) -> None:
        if "damage" in metafunc.fixturenames:
            metafunc.parametrize("damage", cls.damages or ("none",))

    def test_damage_is_named_and_mended_without_embedding(self, index: IndexUnderTest, damage: str) -> None:
        if index.never_damaged:
            pytest.skip(f"{index.name}: {index.never_damaged}")
        embedder = CountingEmbedder()
        with index.open(embedder=embedder) as library:
            _filled(library)
        index.damages()[damage]()
        with index.open(embedder=embedder) as library:
            self._check_nothing_wrong(index, library)
            found = library.verify()
            assert found.problems or found.repaired, "it was not noticed"
            if damage in index.beyond_repair:
                assert not any(problem.mendable for problem in found.problems), found.problems
                assert not library.verify(repair=True).ok
        if damage in index.beyond_repair:
            index.remake()
        with index.open(embedder=embedder) as library:
            mended = library.verify(repair=True)
            assert mended.ok and (mended.repaired or not found.problems), mended
            self._check_nothing_wrong(index, library)
            check_whole(index, library)
        embedder.check_nothing_twice()
        with index.open() as library:
            check_whole(index, library)

    def test_every_way_to_damage_it_is_tried(self, index: IndexUnderTest) -> None:
        assert set(index.damages()) == set(self.damages)
        assert bool(self.damages) != bool(index.never_damaged)

    def test_what_somebody_else_wrote_into_it_is_not_believed(self, index: IndexUnderTest) -> None:
        if index.never_foreign:
            pytest.skip(f"{index.name}: {index.never_foreign}")
        with index.open() as library:
            _filled(library)
            keys = {name: key for key, (name, _) in index.truth(library).items()}
            odd, even = (self._of(library, half) for half in (1, 0))
        index.forge(keys[min(odd)], like=keys[min(even)])
        with index.open() as library:
            self._check_nothing_wrong(index, library)
            assert everything(library, index.leg, "half=0") <= even

    @staticmethod
    def _of(library: Library, half: int) -> set[str]:
        return Oracle(library).passing(Condition("half", "eq", half))

    @staticmethod
    def _check_nothing_wrong(index: IndexUnderTest, library: Library) -> None:
        """Results may be missing, and are reported as such if known; wrong results never occur."""
        oracle = Oracle(library)
        options: dict[str, Any] = {"limit": 1_000, "per_document": 1_000}
        for where in (None, "half=0", "number>=3", "collection=c1", "heading=Part 1"):
            found = library.search("common", where=where, **options)
            assert found.legs[index.leg].status in ("ok", "pending", "failed")
            assert found.degraded == (found.legs[index.leg].status != "ok"), found.legs
            expected = oracle.passing(as_filter(where))
            assert {hit.chunk_id for hit in found.hits} == expected, f"both legs find what is there: {where}"
        for number in range(DOCUMENTS):
            for hit in library.search(f"marker{2 * number}", **options).hits:
                assert library.text(hit.document_id, hit.start, hit.end) == hit.text
        assert chunk_ids(library) == oracle.passing(None)


# ── an unreachable index: what is reported during the outage, and that nothing is missing afterwards ──────────


_SECONDS = 30.0
_OTHER = {"dense": "lexical", "lexical": "dense"}


def _begin(library: Library) -> None:
    for number in range(6):
        put(library, number, metadata={"number": number, "state": "old"})


def _change(library: Library) -> dict[str, str]:
    """Add, replace, delete and change metadata. Returns the ids of new and replaced documents."""
    changed = {f"new{number}": put(library, 10 + number, metadata={"state": "new"}) for number in range(3)}
    changed["replaced"] = put(library, 1, extra=" It was replaced by quokkas.", metadata={"state": "new"})
    library.delete(next(document.id for document in library.documents() if document.filename == "2.md"))
    put(library, 3, metadata={"state": "described again"})
    return changed


def _check_changed(library: Library, leg: str) -> None:
    """Check that the outage left no trace."""
    assert {document.filename for document in library.documents()} == {f"{n}.md" for n in (0, 1, 3, 4, 5, 10, 11, 12)}
    for state, numbers in {"new": (1, 10, 11, 12), "old": (0, 4, 5), "described again": (3,)}.items():
        hits = library.search("common", mode=leg, where={"state": state}, limit=50).hits
        assert {hit.filename for hit in hits} == {f"{number}.md" for number in numbers}, state
    for number in (0, 1, 10, 12):
        (hit, *_) = library.search(f"marker{2 * number}", mode=leg, where={"filename": f"{number}.md"}).hits
        assert ("quokkas" in hit.text) == (number == 1)
    assert not any("marker4 " in hit.text for hit in library.search("marker4", mode=leg, limit=50).hits)


class CatchingUp:
    """Writes continue while an index is unreachable; when it is back, it catches up."""

    def test_it_catches_up_with_what_happened_while_it_was_away(self, index: IndexUnderTest) -> None:
        if index.never_away:
            pytest.skip(f"{index.name}: {index.never_away}")
        embedder = CountingEmbedder()
        with index.open(embedder=embedder) as library:
            _begin(library)
        index.stop()
        with index.open(embedder=embedder) as library:
            changed = _change(library)
            if not index.silent:
                self._check_away(index, library, changed)
        index.start()
        with index.open(embedder=embedder) as library:
            assert library.verify().ok
            check_whole(index, library)
            _check_changed(library, index.leg)
        embedder.check_nothing_twice()

    def test_it_catches_up_behind_searches_of_a_library_that_stayed_open(self, index: IndexUnderTest) -> None:
        if index.never_away or index.silent:
            reason = index.never_away or "it lies in the library, and is there while that is open"
            pytest.skip(f"{index.name}: {reason}")
        embedder = CountingEmbedder()
        with index.open(embedder=embedder) as library:
            _begin(library)
            index.stop()
            changed = _change(library)
            self._check_away(index, library, changed)
            index.start()
            until = time.monotonic() + _SECONDS
            while (state := library.search("common").legs[index.leg]).status != "ok":
                assert time.monotonic() < until, state
                time.sleep(0.1)
            check_whole(index, library)
            _check_changed(library, index.leg)
        embedder.check_nothing_twice()

    @staticmethod
    def _check_away(index: IndexUnderTest, library: Library, changed: dict[str, str]) -> None:
        found = library.search("common", limit=50)
        leg, other = found.legs[index.leg], found.legs[_OTHER[index.leg]]
        assert leg.status == "failed" and "index_unavailable" in (leg.reason or "") and found.degraded, leg
        assert other.status == "ok" and {hit.filename for hit in found.hits} >= {"10.md", "11.md", "12.md"}
        assert everything(library, _OTHER[index.leg], {"state": "new"})
        with pytest.raises(SearchUnavailable):
            library.search("common", mode=index.leg)
        statuses = {document.id: document.status for document in library.documents()}
        assert {statuses[document] for document in changed.values()} == {"indexing"}
        state = library.status()["index"]
        assert state["behind"] >= len(changed) and state["error"]["code"] == "index_unavailable", state
        problems = library.verify().problems
        assert any("index_unavailable" in problem.what for problem in problems), problems

    def test_a_truth_that_went_back_is_followed(self, index: IndexUnderTest) -> None:
        """An older copy of the database was restored: the index has applied changes that no longer exist."""
        if index.never_goes_back:
            pytest.skip(f"{index.name}: {index.never_goes_back}")
        with index.open() as library:
            _begin(library)
        index.go_back(copy=True)
        with index.open() as library:
            _change(library)
        index.go_back(copy=False)
        with index.open() as library:
            put(library, 20, metadata={"state": "since"})
            assert library.search("common", mode=index.leg, where={"state": "since"}).hits, "it was added just now"
            library.verify(repair=True)  # a loss is reported until it is repaired
            check_whole(index, library)
            names = {document.filename for document in library.documents()}
            assert names == {f"{number}.md" for number in (*range(6), 20)}


# ── deleted documents are gone from an index too, as seen from outside ────────────────────────────────────────


CANARY = "zebrafinchquagga"
_SAID = f" The {CANARY} lives here."


def _deleted(library: Library, document: str) -> None:
    library.delete(document)


def _replaced(library: Library, document: str) -> None:
    put(library, 7, extra=" A quiet text.", filename="quiet.md", source="victim", metadata={"note": "none"})


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
        document = put(library, 6, extra=_SAID, filename=f"{CANARY}.md", source="victim", metadata=about)
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


__all__ = ["IndexSuite", "IndexUnderTest", "StoreHarness", "files_with"]


class IndexSuite(SameSet, Recall, CatchingUp, Mending, Leaving, Writers):
    """Everything an index promises."""
