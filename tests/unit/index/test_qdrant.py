"""An index in a real Qdrant: what goes in, what is found, and who sees it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from footnotes.errors import IndexMissing
from footnotes.index import Allowed, Change, Entry, Facets
from footnotes.index.qdrant import QdrantDatabase, QdrantIndex
from footnotes.index.qdrant import database as qdrant_filling
from footnotes.index.qdrant import search as qdrant_search
from footnotes.index.remote import Scope
from qdrant import QdrantServer, asked, opened

pytestmark = pytest.mark.slow

D = 16
_NUMBERS = itertools.count(1)
LIBRARY, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2


@pytest.fixture
def database(qdrant_server: QdrantServer) -> Iterator[QdrantDatabase]:
    made = opened(qdrant_server, f"t{next(_NUMBERS)}")
    yield made
    made.close()


@pytest.fixture
def index(database: QdrantDatabase) -> QdrantIndex:
    return database.index(scope())


def scope(
    user: str = "ann", generation: int = 1, *, library: str = LIBRARY, model: str = "mini", words: str = "1"
) -> Scope:
    return Scope(library, user, generation, model, D, words)


def vectors(count: int, seed: int = 1, dimensions: int = D) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def change(
    document: int,
    rows: NDArray[np.float32],
    *,
    seq: int = 1,
    first: int | None = None,
    facets: tuple[str, ...] = (),
    weights: Mapping[int, float] | None = None,
) -> Change:
    start = document * 100 if first is None else first
    return Change(seq, document, [
        Entry(start + n, document, facets=facets, vector=row.astype(np.float16).tobytes(), weights=weights or {},
              metadata={"page": n, "file": "a.txt"})
        for n, row in enumerate(rows)
    ])  # fmt: skip


def keys_of(*given: int) -> NDArray[np.int64]:
    return np.sort(np.asarray(given, dtype=np.int64))


# ── in and out


def test_what_goes_in_is_found_again(index: QdrantIndex) -> None:
    rows = vectors(30)
    assert index.refresh() == 0
    index.apply([change(1, rows[:10]), change(2, rows[10:20]), change(3, rows[20:])], position=7)
    assert index.position == 7 and index.refresh() == 7
    assert index.keys().tolist() == [*range(100, 110), *range(200, 210), *range(300, 310)]
    assert index.keys().dtype == np.int64
    found = index.search(rows[12], 3)
    assert found.keys[0] == 202
    assert found.scores[0] == pytest.approx(1.0, abs=1e-3)
    assert found.scores == sorted(found.scores, reverse=True)


def test_a_point_says_what_it_is_to_those_who_look_from_outside(
    index: QdrantIndex, database: QdrantDatabase, qdrant_server: QdrantServer
) -> None:
    odd = {
        "none": None,
        "list": [1, {"a": [True]}],
        "number": 2.5,
        "huge": 1 << 80,
        "no": float("inf"),
        "\udcff": "b\udc80",
    }
    row = vectors(1)[0].astype(np.float16).tobytes()
    index.apply(
        [Change(4, 9, [Entry(5, 9, facets=("k\x1fv", "x\udcff"), vector=row, weights={3: 2.0}, metadata=odd)])],
        position=4,
    )
    with asked(qdrant_server) as client:
        (point,) = client.retrieve(_collection(database), ["01234567-89ab-cdef-0000-000000000005"], with_vectors=True)
    assert point.payload == {
        "tenant": scope().tenant, "generation": 1, "document": 9, "facets": ["k\x1fv", "x?"], "seq": 4,
        "metadata": {"none": None, "list": [1, {"a": [True]}], "number": 2.5, "huge": str(1 << 80), "no": None,
                     "?": "b?"},
    }  # fmt: skip
    assert isinstance(point.vector, dict) and set(point.vector) == {"dense", "lexical"}
    assert index.search(Facets(["x\udcff"]), 5).keys == [5]


def test_chunks_without_vector_or_words_are_kept(index: QdrantIndex) -> None:
    index.apply(
        [Change(1, 1, [Entry(-3, 1), Entry(2**62, 1, weights={4_294_967_295: 1.5}, facets=("a",))])], position=1
    )
    assert index.keys().tolist() == [-3, 2**62]
    assert index.search(vectors(1)[0], 5).keys == []
    assert index.search({4_294_967_295: 2.0}, 5).keys == [2**62]


def test_a_new_version_replaces_the_old_one(index: QdrantIndex) -> None:
    rows = vectors(20)
    index.apply([change(1, rows[:5]), change(2, rows[5:10])], position=1)
    index.apply([change(1, rows[10:13], seq=2, first=500)], position=2)
    assert index.keys().tolist() == [200, 201, 202, 203, 204, 500, 501, 502]
    index.apply([Change(3, 2)], position=3)
    assert index.keys().tolist() == [500, 501, 502]
    index.apply([], position=9)
    assert index.refresh() == 9


def test_the_last_word_on_a_document_counts_within_one_run(index: QdrantIndex) -> None:
    rows = vectors(10)
    twice = [change(1, rows[:4]), change(2, rows[4:6]), change(1, rows[6:8], first=700)]
    index.apply(twice, position=1)
    assert index.keys().tolist() == [200, 201, 700, 701]
    index.apply(list(reversed(twice)), position=2)
    assert index.keys().tolist() == [100, 101, 102, 103, 200, 201]


def test_the_old_version_is_there_until_the_new_one_is(index: QdrantIndex) -> None:
    """Every upsert and deletion is watched by a search in between."""
    rows = vectors(20)
    index.apply([change(1, rows[:5])], position=1)
    seen: list[list[int]] = []

    def watched() -> Iterator[Entry]:
        for entry in change(1, rows[10:15], seq=2, first=500).entries:
            seen.append(index.keys().tolist())
            yield entry

    small = index.__class__(index._calls, index._collections, scope(), qdrant_options(batch=2))
    small.refresh()
    small.apply([Change(2, 1, watched())], position=2)
    assert all(set(range(100, 105)) <= set(keys) for keys in seen)
    assert max(len(keys) for keys in seen) > 5
    assert index.keys().tolist() == [500, 501, 502, 503, 504]


def test_applying_twice_changes_nothing(index: QdrantIndex) -> None:
    rows = vectors(12)
    changes = [change(1, rows[:6], facets=("a",)), change(2, rows[6:])]
    index.apply(changes, position=3)
    before = (index.keys().tolist(), index.search(rows[3], 12))
    index.apply(changes, position=3)
    assert (index.keys().tolist(), index.search(rows[3], 12)) == before


@pytest.mark.parametrize("batch", [1, 3, 500])
def test_a_run_that_was_cut_off_is_mended_by_the_next(database: QdrantDatabase, batch: int) -> None:
    rows = vectors(40)
    index = QdrantIndex(database._calls, database._collections, scope(), qdrant_options(batch=batch))
    index.apply([change(n, rows[n * 5 : n * 5 + 5]) for n in range(1, 5)], position=4)

    def cut_off() -> Iterator[Change]:
        yield change(1, rows[30:33], seq=5, first=800)
        yield Change(5, 2)
        yield Change(5, 3, failing())

    def failing() -> Iterator[Entry]:
        yield from change(3, rows[33:36], seq=5, first=900).entries
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        index.apply(cut_off(), position=5)
    again = database.index(scope())
    assert again.refresh() == 4
    again.apply(
        [change(1, rows[30:33], seq=6, first=800), Change(6, 2), change(3, rows[34:36], seq=6, first=901)], position=6
    )
    assert again.keys().tolist() == [400, 401, 402, 403, 404, 800, 801, 802, 901, 902]


def test_a_first_run_that_was_cut_off_counts_as_nothing(database: QdrantDatabase) -> None:
    def cut_off() -> Iterator[Change]:
        yield change(1, vectors(5))
        raise RuntimeError("the power went")

    index = QdrantIndex(database._calls, database._collections, scope(), qdrant_options(batch=2))
    with pytest.raises(RuntimeError):
        index.apply(cut_off(), position=5)
    assert len(index.keys()) > 0
    assert database.index(scope()).refresh() == 0
    index.apply([change(2, vectors(2))], position=6)
    assert index.keys().tolist() == [200, 201]


def test_an_index_filled_from_something_else_is_filled_anew(database: QdrantDatabase) -> None:
    old, new = database.index(scope(words="1")), database.index(scope(words="2"))
    old.apply([change(1, vectors(5)), change(2, vectors(5))], position=5)
    assert new.refresh() == 0
    new.apply([change(2, vectors(3))], position=6)
    assert new.keys().tolist() == [200, 201, 202]
    assert new.refresh() == 6 and old.refresh() == 0


def test_clearing_leaves_nothing(
    index: QdrantIndex, database: QdrantDatabase, qdrant_server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.clear()  # of a collection that is not there
    index.apply([change(1, vectors(50))], position=5)
    monkeypatch.setattr(qdrant_filling.Points.pages, "__defaults__", (7,))
    index.clear()
    assert index.position == 0 and index.refresh() == 0
    assert index.keys().tolist() == []
    with asked(qdrant_server) as client:
        assert client.count(_collection(database), exact=True).count == 0
    index.apply([change(1, vectors(3))], position=6)
    assert index.keys().tolist() == [100, 101, 102]


def test_single_chunks_are_taken_out(index: QdrantIndex, database: QdrantDatabase) -> None:
    other = database.index(scope("bob"))
    index.apply([change(1, vectors(5))], position=1)
    other.apply([change(2, vectors(5))], position=1)
    index.remove([101, 103, 200, 99_999])
    assert index.keys().tolist() == [100, 102, 104]
    assert len(other.keys()) == 5
    index.remove([])


def test_who_went_on_from_what_another_emptied_is_told(database: QdrantDatabase) -> None:
    """Else the changes in between would be missing, and nobody would know."""
    first, second = database.index(scope()), database.index(scope())
    first.apply([change(1, vectors(5))], position=1)
    second.refresh()
    first.clear()
    with pytest.raises(IndexMissing):
        second.apply([change(2, vectors(5))], position=2)
    assert second.position == 0

    def emptied_meanwhile() -> Iterator[Change]:
        yield change(1, vectors(5))
        first.refresh()
        first.apply([change(3, vectors(2))], position=3)

    second.refresh()
    with pytest.raises(IndexMissing, match="another process"):
        second.apply(emptied_meanwhile(), position=2)
    assert first.refresh() == 3
    assert {300, 301} <= set(first.keys().tolist())  # what the other still sent may lie beside: `remove` is for that


def test_a_look_from_another_thread_does_not_make_a_run_begin_anew(
    index: QdrantIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it read before the first portion was done must not be believed after."""
    read = QdrantIndex._mark
    looked, done = threading.Event(), threading.Event()

    def slow(self: QdrantIndex, *, patient: bool) -> Any:
        mark = read(self, patient=patient)
        if threading.current_thread().name == "looker":
            looked.set()
            done.wait(20)
        return mark

    monkeypatch.setattr(QdrantIndex, "_mark", slow)
    index.refresh()
    looker = threading.Thread(target=index.refresh, name="looker")

    def first() -> Iterator[Change]:
        yield change(1, vectors(3))
        looker.start()
        looked.wait(20)

    index.apply(first(), position=1)
    done.set()
    looker.join()
    assert index.position == 1
    index.apply([change(2, vectors(3), seq=2)], position=2)
    assert index.keys().tolist() == [100, 101, 102, 200, 201, 202]


# ── who sees what


def test_tenants_libraries_and_generations_share_a_collection_and_see_nothing_of_each_other(
    database: QdrantDatabase, qdrant_server: QdrantServer
) -> None:
    scopes = [scope("ann"), scope("bob"), scope("ann", 2), scope("ann", library=OTHER)]
    indexes = [database.index(one) for one in scopes]
    rows = vectors(40)
    for number, one in enumerate(indexes):
        first = 100 if number == 3 else 100 * (number + 1)  # another library has the same keys
        one.apply(
            [change(1, rows[number * 10 : number * 10 + 10], first=first, facets=("f",), weights={1: 1.0})],
            position=1 + number,
        )
    with asked(qdrant_server) as client:
        names = [one.name for one in client.get_collections().collections if one.name.startswith(_prefix(database))]
    assert names == [_collection(database)]
    for number, one in enumerate(indexes):
        own = list(range(100, 110)) if number == 3 else list(range(100 * (number + 1), 100 * (number + 1) + 10))
        assert one.keys().tolist() == own
        assert sorted(one.search(rows[0], 100).keys) == own
        assert sorted(one.search(rows[0], 100, Allowed(keys_of(*range(100, 400)))).keys) == own
        assert sorted(one.search({1: 1.0}, 100).keys) == own
        assert sorted(one.search(Facets(["f"]), 100).keys) == own
        assert set(one.score({1: 1.0}, list(range(100, 400)))) == set(own)
        assert one.refresh() == 1 + number
    indexes[0].clear()
    assert [len(one.keys()) for one in indexes] == [0, 10, 10, 10]
    indexes[2].apply([Change(9, 1)], position=9)
    assert [len(one.keys()) for one in indexes] == [0, 10, 0, 10]


def test_models_have_collections_of_their_own_and_an_alias_follows(
    database: QdrantDatabase, qdrant_server: QdrantServer
) -> None:
    old, new = scope(model="mini"), scope(generation=2, model="maxi")
    database.index(old).apply([change(1, vectors(2))], position=1)
    database.index(old).promote()
    database.index(scope("bob")).promote()
    alias = f"{_prefix(database)}.{old.tenant}"
    with asked(qdrant_server) as client:
        assert client.count(alias, exact=True).count == 3  # two chunks and a mark
        database.index(new).promote()
        database.index(new).promote()
        leads = {one.alias_name: one.collection_name for one in client.get_aliases().aliases}
    assert leads[alias] == f"{_prefix(database)}-{new.model}"
    assert leads[f"{_prefix(database)}.{scope('bob').tenant}"] == f"{_prefix(database)}-{old.model}"
    assert old.tenant not in ("ann", LIBRARY)


# ── filters


def filled(index: QdrantIndex, count: int = 60) -> NDArray[np.float32]:
    """Documents of ten chunks each: red or blue by turns, and every third one round."""
    rows = vectors(count)
    index.apply([
        change(n, rows[n * 10 : n * 10 + 10], first=n * 10, weights={n: 1.0 + n, 99: 0.5},
               facets=(f"colour\x1f{('red', 'blue')[n % 2]}", f"round\x1f{'yes' if n % 3 == 0 else 'no'}"))
        for n in range(count // 10)
    ], position=1)  # fmt: skip
    return rows


def best(rows: NDArray[np.float32], query: NDArray[np.float32], keys: list[int], limit: int) -> list[int]:
    return [keys[at] for at in np.argsort(-(rows[keys] @ query), kind="stable")[:limit]]


@pytest.mark.parametrize("named", [20_000, 5], ids=["by id", "by asking for more"])
@pytest.mark.parametrize("exact", [10_000, 0])
def test_a_filter_gives_the_same_set_however_it_is_said(
    index: QdrantIndex, monkeypatch: pytest.MonkeyPatch, named: int, exact: int
) -> None:
    monkeypatch.setattr(qdrant_search, "NAMED_MOST", named)
    monkeypatch.setattr(qdrant_search, "EXACT_MOST", exact)
    rows = filled(index)
    round_and_red = [key for key in range(60) if key // 10 % 6 == 0]
    for keys, facets in (
        (round_and_red, (("colour\x1fred",), ("round\x1fyes",))),
        (round_and_red, ()),
        ([3, 17, 18, 44, 59], ()),
        ([key for key in range(60) if key // 10 % 2], (("colour\x1fblue", "colour\x1fgreen"),)),
        (list(range(0, 60, 7)), (("colour\x1fred", "colour\x1fblue"),)),  # facets that say too much
    ):
        allowed = Allowed(keys_of(*keys), facets)
        for limit in (1, 4, 100):
            assert index.search(rows[5], limit, allowed).keys == best(rows, rows[5], keys, limit)
        assert sorted(index.search({99: 1.0}, 100, allowed).keys) == keys
        assert index.search(Facets(["colour\x1fred", "colour\x1fblue"]), 100, allowed).keys == keys
        assert index.search(Facets(["round\x1fyes"]), 100, allowed).keys == [key for key in keys if key // 10 % 3 == 0]
        assert len(index.search(Facets(["colour\x1fred", "colour\x1fblue"]), 2, allowed).keys) == 2


def test_a_filter_that_lets_nothing_through_finds_nothing(index: QdrantIndex) -> None:
    rows = filled(index)
    nothing = Allowed(keys_of(), (("colour\x1fred",),))
    assert index.search(rows[0], 5, nothing).keys == []
    assert index.search({99: 1.0}, 5, nothing).keys == []
    assert index.search(Facets(["colour\x1fred"]), 5, nothing).keys == []
    assert index.search(rows[0], 5, Allowed(keys_of(9_999))).keys == []
    assert (
        index.search(rows[0], 0).keys
        == index.search(Facets([]), 5).keys
        == index.search(Facets(["colour\x1fred"]), 0).keys
        == []
    )


# ── scores


def test_the_nearest_are_those_that_comparing_all_finds(database: QdrantDatabase) -> None:
    dimensions, count = 64, 4_000
    rows = vectors(count, dimensions=dimensions)
    index = database.index(Scope(LIBRARY, "ann", 1, "big", dimensions))
    index.apply([change(n, rows[n * 100 : n * 100 + 100]) for n in range(count // 100)], position=1)
    hits = 0
    for query in vectors(30, seed=2, dimensions=dimensions):
        wanted = np.argsort(-(rows @ query))[:10]
        found = index.search(query, 10)
        hits += len(set(found.keys) & set(wanted.tolist()))
        assert found.scores == pytest.approx([float(rows[key] @ query) for key in found.keys], abs=2e-3)
    assert hits / 300 > 0.98


def test_words_weigh_what_the_inner_product_says(index: QdrantIndex) -> None:
    rng = np.random.default_rng(5)
    table = rng.random((200, 40)).astype(np.float32) * (rng.random((200, 40)) < 0.2)
    index.apply([
        Change(1, n, [Entry(n, n, weights={int(at): float(row[at]) for at in np.flatnonzero(row)})])
        for n, row in enumerate(table)
    ], position=1)  # fmt: skip
    for _ in range(10):
        terms = {int(at): float(rng.random() + 0.1) for at in rng.choice(60, 6, replace=False)}
        query = np.array([terms.get(at, 0.0) for at in range(40)], dtype=np.float32)
        exact = {n: float(score) for n, score in enumerate(table @ query) if score > 0}
        found = index.search(terms, 500)
        assert dict(zip(found.keys, found.scores, strict=True)) == pytest.approx(exact, rel=1e-5)
        assert found.scores == sorted(found.scores, reverse=True)
        assert index.search(terms, 7).scores == pytest.approx(sorted(exact.values(), reverse=True)[:7], rel=1e-5)
        few = {key: score for key, score in exact.items() if key < 50}
        assert index.score(terms, list(range(50))) == pytest.approx(few, rel=1e-5)
    assert index.search({}, 5).keys == []
    assert index.score({}, [1]) == index.score({1: 1.0}, []) == {}


def test_only_scores_above_zero_are_found(index: QdrantIndex) -> None:
    weights = ({1: 1.0}, {1: -1.0}, {1: 1.0, 2: -1.0})
    index.apply([Change(1, 1, [Entry(n, 1, weights=one) for n, one in enumerate(weights)])], position=1)
    assert index.search({1: 1.0, 2: 1.0}, 5).keys == [0]


# ── the collection


@pytest.mark.parametrize("quantization", ["int8", "binary"])
def test_options_reach_the_server(qdrant_server: QdrantServer, quantization: str) -> None:
    prefix = f"o{next(_NUMBERS)}"
    options = {"quantization": quantization, "on_disk": True, "payload_on_disk": False, "m": 24, "ef_construct": 77,
               "tenant_graphs": quantization == "binary",
               "shards": 2, "replicas": 1, "write_consistency": 1, "ordering": "strong", "search_ef": 300}  # fmt: skip
    database = opened(qdrant_server, prefix, index_options=options)
    rows = vectors(300)
    index = database.index(scope())
    index.apply([change(1, rows, first=0, weights={1: 1.0})], position=1)
    with asked(qdrant_server) as client:
        config = client.get_collection(_collection(database)).config
    dense: Any = config.params.vectors["dense"]  # type: ignore[index]
    sparse: Any = config.params.sparse_vectors["lexical"]  # type: ignore[index]
    assert (dense.on_disk, sparse.index.on_disk, sparse.modifier) == (True, True, None)
    assert (config.params.shard_number, config.params.replication_factor) == (2, 1)
    assert (config.params.write_consistency_factor, config.params.on_disk_payload) == (1, False)
    hnsw = config.hnsw_config
    assert (hnsw.m, hnsw.payload_m, hnsw.ef_construct, hnsw.on_disk) == (
        0 if quantization == "binary" else 24,
        24,
        77,
        True,
    )
    assert {"int8": "scalar", "binary": "binary"}[quantization] in config.quantization_config.model_dump()  # type: ignore[union-attr]
    assert config.metadata == {"footnotes": {"format": 1}}
    assert index.search(rows[7], 1).keys == [7]
    assert index.search(rows[7], 5, Allowed(keys_of(*range(100)))).keys == best(rows, rows[7], list(range(100)), 5)
    database.close()


def test_every_field_that_filters_name_is_indexed(
    index: QdrantIndex, database: QdrantDatabase, qdrant_server: QdrantServer
) -> None:
    index.apply([], position=1)
    with asked(qdrant_server) as client:
        schema: Any = client.get_collection(_collection(database)).payload_schema
        assert {name: one.data_type.value for name, one in schema.items()} == {
            "tenant": "keyword", "generation": "integer", "document": "integer", "facets": "keyword", "seq": "integer",
            "shelf": "keyword",
        }  # fmt: skip
        assert schema["tenant"].params.is_tenant is True
        client.delete_payload_index(_collection(database), "facets")
        opened(qdrant_server, _prefix(database)).index(scope()).apply([], position=2)
        assert "facets" in client.get_collection(_collection(database)).payload_schema


def test_a_server_that_refuses_filters_without_index_serves_too(
    index: QdrantIndex, database: QdrantDatabase, qdrant_server: QdrantServer
) -> None:
    from qdrant_client import models

    index.apply([], position=1)
    strict = models.StrictModeConfig(enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False)
    with asked(qdrant_server) as client:
        client.update_collection(_collection(database), strict_mode_config=strict)
    again = opened(qdrant_server, _prefix(database)).index(scope())
    rows = filled(again)
    again.apply([Change(2, 0)], position=2)
    again.remove([10])
    assert len(again.search(rows[0], 100).keys) == len(again.keys()) == 49
    again.clear()
    assert again.refresh() == 0


def test_many_at_once_make_one_collection(qdrant_server: QdrantServer) -> None:
    prefix = f"c{next(_NUMBERS)}"
    databases = [opened(qdrant_server, prefix) for _ in range(6)]

    def fill(number: int) -> list[int]:
        index = databases[number].index(scope(f"user{number}"))
        index.apply([change(number, vectors(5))], position=1)
        return index.keys().tolist()  # type: ignore[no-any-return]

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(fill, range(6)))
    assert results == [list(range(n * 100, n * 100 + 5)) for n in range(6)]
    for one in databases:
        one.close()


def test_grpc_gives_the_same(qdrant_server: QdrantServer) -> None:
    database = opened(qdrant_server, f"g{next(_NUMBERS)}", index_options={"grpc_port": qdrant_server.grpc_port})
    index = database.index(scope())
    rows = filled(index)
    again = opened(qdrant_server, _prefix(database))
    plain = again.index(scope())
    assert index.refresh() == plain.refresh() == 1
    allowed = Allowed(keys_of(1, 5, 30, 50), ())
    assert index.search(rows[0], 9).keys == plain.search(rows[0], 9).keys
    assert index.search(rows[0], 9, allowed).keys == plain.search(rows[0], 9, allowed).keys
    assert index.search({99: 1.0, 3: 1.0}, 9).scores == pytest.approx(plain.search({99: 1.0, 3: 1.0}, 9).scores)
    assert index.keys().tolist() == list(range(60))
    index.promote()
    index.clear()
    assert plain.refresh() == 0
    with pytest.raises(IndexMissing):
        database.index(scope(model="none")).search(rows[0], 1)
    database.close()
    again.close()


def qdrant_options(**given: Any) -> Any:
    from footnotes.index.qdrant.settings import Options

    return Options(**given)


def _prefix(database: QdrantDatabase) -> str:
    return database.address.rpartition("/")[2]


def _collection(database: QdrantDatabase) -> str:
    return f"{_prefix(database)}-{scope().model}"
