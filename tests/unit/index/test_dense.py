from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from footnotes.index import Allowed, Change, Entry, IndexDamaged, dense
from footnotes.index.dense import DenseIndex

D = 32


def vectors(count: int, seed: int = 1) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((40, D))
    rows = centres[rng.integers(0, 40, count)] + 0.5 * rng.standard_normal((count, D))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def changes(rows: NDArray[np.float32], first: int = 1, per_document: int = 10) -> list[Change]:
    made = []
    for start in range(0, len(rows), per_document):
        document = (first + start) // per_document + 1
        entries = [
            Entry(first + n, document, vector=rows[n].astype(np.float16).tobytes())
            for n in range(start, min(start + per_document, len(rows)))
        ]
        made.append(Change(1, document, entries))
    return made


def exact(rows: NDArray[np.float32], query: NDArray[np.float32], keys: NDArray[np.int64], limit: int) -> list[int]:
    return keys[np.argsort(-(rows @ query))[:limit]].tolist()


def test_few_rows_are_searched_exactly(tmp_path: Path) -> None:
    rows = vectors(500)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows), position=3)
    keys = np.arange(1, 501)
    for query in vectors(20, seed=2):
        found = index.search(query, 10)
        assert found.keys == exact(rows, query, keys, 10)
        assert found.scores == sorted(found.scores, reverse=True)
        assert index.score(query, found.keys) == pytest.approx(dict(zip(found.keys, found.scores, strict=True)))


@pytest.fixture
def graphs_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "SCANNED_ROWS", 2_000)


def test_many_rows_are_found_by_their_small_copies(tmp_path: Path) -> None:
    rows = vectors(6_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows), position=1)
    assert not index.wants_graph()
    keys = np.arange(1, 6_001)
    for query in vectors(40, seed=3):
        found = index.search(query, 10)
        assert found.keys == exact(rows, query, keys, 10)
        assert found.scores == pytest.approx(np.sort(rows @ query)[::-1][:10].tolist(), abs=1e-4)
    near = index.search(rows[100], 80).keys
    index.apply([Change(2, 0, [], [(key, 1) for key in near[:70]])], position=2)
    after = index.search(rows[100], 50).keys
    assert len(after) == 50 and not set(after) & set(near[:70])


@pytest.mark.usefixtures("graphs_of_few")
def test_a_graph_finds_what_comparing_all_would(tmp_path: Path) -> None:
    rows = vectors(6_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows[:5_500]), position=1)
    assert index.wants_graph()
    assert index.publish_graph(index.build_graph())
    assert not index.wants_graph()
    index.apply(changes(rows[5_500:], first=5_501), position=2)
    keys = np.arange(1, 6_001)
    found = sum(len(set(index.search(q, 10).keys) & set(exact(rows, q, keys, 10))) for q in vectors(40, seed=3))
    assert found / 400 > 0.98
    again = DenseIndex(tmp_path / "d", "me", D)
    assert again.count() == 6_000 and not again.wants_graph()


@pytest.mark.usefixtures("graphs_of_few")
def test_a_graph_that_grew_is_the_one_that_is_searched(tmp_path: Path) -> None:
    rows = vectors(9_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    for start in (0, 3_000, 6_000):
        index.apply(changes(rows[start : start + 3_000], first=start + 1), position=1 + start)
        assert index.publish_graph(index.build_graph())
        keys = np.arange(1, start + 3_001)
        for query in rows[start : start + 3_000 : 100]:
            assert len(set(index.search(query, 10).keys) & set(exact(rows[: len(keys)], query, keys, 10))) >= 8


@pytest.mark.usefixtures("graphs_of_few")
def test_removed_rows_are_never_found_even_through_the_graph(tmp_path: Path) -> None:
    rows = vectors(5_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows), position=1)
    index.publish_graph(index.build_graph())
    near = index.search(rows[100], 50).keys
    index.apply([Change(2, 0, [], [(key, 1) for key in near[:40]])], position=2)
    after = index.search(rows[100], 50).keys
    assert len(after) == 50 and not set(after) & set(near[:40])


@pytest.mark.usefixtures("graphs_of_few")
@pytest.mark.parametrize("size", [1, 30, 2_000])
def test_a_filter_gives_the_exact_top(tmp_path: Path, size: int) -> None:
    rows = vectors(5_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows), position=1)
    index.publish_graph(index.build_graph())
    allowed = np.sort(np.random.default_rng(5).choice(np.arange(1, 5_001), size, replace=False))
    for query in vectors(10, seed=6):
        found = index.search(query, 10, Allowed(allowed))
        assert found.keys == exact(rows[allowed - 1], query, allowed, 10)


def test_most_removed_means_rewritten(tmp_path: Path) -> None:
    rows = vectors(4_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows), position=1)
    index.apply([Change(2, 1, [], [(1, 3_000)])], position=2)
    size = sum(path.stat().st_size for path in (tmp_path / "d").glob("*.vectors"))
    assert size == 1_000 * D * 2
    assert index.keys().tolist() == list(range(3_001, 4_001))


def test_applying_twice_and_late_keys(tmp_path: Path) -> None:
    rows = vectors(100)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows[50:], first=51), position=1)
    index.apply(changes(rows[50:], first=51), position=2)
    assert index.count() == 50
    index.apply(changes(rows[:50], first=1), position=3)
    assert index.keys().tolist() == list(range(1, 101))
    assert index.search(rows[7], 1).keys == [8]


@pytest.mark.usefixtures("graphs_of_few")
def test_a_graph_built_while_rows_came_late_is_not_used(tmp_path: Path) -> None:
    rows = vectors(5_000)
    index = DenseIndex(tmp_path / "d", "me", D)
    index.apply(changes(rows[100:], first=101), position=1)
    grown = index.build_graph()
    index.apply(changes(rows[:100], first=1), position=2)
    assert not index.publish_graph(grown)
    assert index.search(rows[3], 1).keys == [4]


def test_a_foreign_index_is_refused(tmp_path: Path) -> None:
    DenseIndex(tmp_path / "d", "me", D).apply(changes(vectors(10)), position=1)
    with pytest.raises(IndexDamaged):
        DenseIndex(tmp_path / "d", "somebody else", D)
