"""A damaged or foreign index: no wrong result is shown, and it is repaired without a model."""

from __future__ import annotations

from typing import Any

import pytest

from footnotes.library import Library
from footnotes.retrieve.where import as_filter
from footnotes.testing.suite.index import CountingEmbedder, IndexUnderTest, check_whole, chunk_ids, everything
from footnotes.testing.suite.index_filters import Oracle
from footnotes.testing.suite.index_texts import put
from footnotes.types import Condition

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
