"""An unreachable index: what is reported during the outage, and that nothing is missing afterwards."""

from __future__ import annotations

import time

import pytest

from footnotes.errors import SearchUnavailable
from footnotes.library import Library
from footnotes.testing.suite.index import CountingEmbedder, IndexUnderTest, check_whole, everything
from footnotes.testing.suite.index_texts import put

_SECONDS = 30.0
_OTHER = {"dense": "lexical", "lexical": "dense"}


def _begin(library: Library) -> None:
    for number in range(6):
        put(library, number, metadata={"number": number, "state": "old"})


def _change(library: Library) -> dict[str, str]:
    """Add, replace, delete and change metadata. Returns the ids of new and replaced documents."""
    changed = {f"new{number}": put(library, 10 + number, metadata={"state": "new"}) for number in range(3)}
    changed["replaced"] = put(library, 1, said=" It was replaced by quokkas.", metadata={"state": "new"})
    library.delete(next(document.id for document in library.documents() if document.filename == "2.md"))
    put(library, 3, metadata={"state": "described again"})
    return changed


def _check_changed(library: Library, leg: str) -> None:
    """As if nothing had been."""
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
            while (said := library.search("common").legs[index.leg]).status != "ok":
                assert time.monotonic() < until, said
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
