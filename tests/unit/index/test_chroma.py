"""An index in a Chroma, in a folder and on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chroma import ChromaServer
from chroma_indexes import D, Places, changes, entry, exact, scope, vectors
from footnotes.errors import IndexFailed, IndexForeign, IndexMismatch, IndexMissing
from footnotes.index import Allowed, Change, Entry, Facets
from footnotes.index.chroma import ChromaIndex
from footnotes.index.chroma import database as chroma
from footnotes.index.chroma.metadata import restored
from footnotes.types import JsonValue

pytestmark = pytest.mark.slow


@pytest.fixture(params=["folder", "server"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
    if request.param == "folder":
        made = Places(tmp_path / "chroma")
    else:
        server: ChromaServer = request.getfixturevalue("chroma_server")
        made = Places(server=server)
    yield made
    made.close()


@pytest.fixture
def index(places: Places) -> ChromaIndex:
    return places.database().index(scope())


def collection(index: ChromaIndex, **configured: Any) -> Any:
    """The collection behind an index as anybody else sees it; made where it is not there."""
    from chromadb.api.models.Collection import Collection

    calls = index._calls
    with calls._connection.writing(calls.name) as client:
        model = client.create_collection(calls.name, get_or_create=True, **configured)
        return Collection(client=client, model=model, embedding_function=None)


def told(index: ChromaIndex, key: int) -> dict[str, Any]:
    assert index._known is not None
    return index._calls.metadata_of(index._known, ids=[str(key)])[str(key)]


# ── finding


def test_nothing_is_found_in_nothing(index: ChromaIndex) -> None:
    assert index.refresh() == index.position == 0
    assert index.search(vectors(1)[0], 5).keys == []
    assert index.keys().tolist() == index.search(Facets(["a"]), 5).keys == []
    index.remove([1])
    index.clear()
    index.compact()
    index.promote()


def test_what_was_put_is_found_and_kept(places: Places, index: ChromaIndex) -> None:
    rows = vectors(500)
    index.apply(changes(rows), position=7)
    again = places.database().index(scope())
    assert again.position == 0 and again.refresh() == again.position == index.position == 7
    assert again.keys().tolist() == list(range(1, 501))
    for query in vectors(10, seed=2):
        found = again.search(query, 10)
        assert found.keys == exact(rows, query, range(1, 501), 10)
        assert found.scores == pytest.approx([float(rows[key - 1] @ query) for key in found.keys], abs=1e-3)
        assert found.scores == sorted(found.scores, reverse=True)
    assert len(again.search(rows[0], 10_000).keys) == 500
    assert again.search(rows[0], 0).keys == []


def test_the_graph_finds_what_comparing_all_would(index: ChromaIndex) -> None:
    rows = vectors(3_000)
    index.apply(changes(rows), position=1)
    asked = vectors(40, seed=3)
    found = sum(len({*index.search(q, 10).keys} & {*exact(rows, q, range(1, 3_001), 10)}) for q in asked)
    assert found / 400 > 0.98


def test_a_graph_that_lost_the_way_to_some_of_its_records_still_finds_all_of_a_few(places: Places) -> None:
    index = places.database(index_options={"max_neighbors": 2, "ef_construction": 4}).index(scope())
    rows = vectors(200)
    index.apply(changes(rows), position=1)
    for seq in range(2, 12):
        index.apply([Change(seq, number, ()) for number in range(seq % 3, 20, 3)], position=seq)
        index.apply(changes(rows, seq=seq), position=seq)
    for query in rows[:20]:
        assert sorted(index.search(query, 1_000).keys) == list(range(1, 201))


@pytest.mark.parametrize("way", ["facets", "luck", "name", "compared"])
def test_every_way_of_filtering_gives_the_same(
    places: Places, index: ChromaIndex, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = vectors(900)
    index.apply(changes(rows), position=1)
    monkeypatch.setattr(chroma, "EXACT_KEYS", 300 if way == "compared" else 5)
    monkeypatch.setattr(chroma, "OVERSAMPLED_MOST", 1_000 if way == "luck" else 5)
    ways: list[str] = []
    for name in ("_by_facets", "_oversample", "_search_ids", "_compare"):
        _noted(monkeypatch, name, ways)
    keys = np.array([key for key in range(1, 901) if (key % 3 == 1 and 100 < key <= 500) or key == 1_000])
    decades = tuple(f"document:{number}" for number in range(11, 51))
    facets = (("third:1", "never"), decades) if way == "facets" else ()
    monkeypatch.setattr("footnotes.index.chroma.metadata.MOST_TERMS", 50)
    for query in vectors(8, seed=5):
        found = index.search(query, 12, Allowed(keys, facets))
        assert found.keys == exact(rows, query, keys[:-1], 12)
    assert ways and {*ways} == {
        {"facets": "_by_facets", "luck": "_oversample", "name": "_search_ids"}.get(way, "_compare")
    }


def _noted(monkeypatch: pytest.MonkeyPatch, name: str, ways: list[str]) -> None:
    plain = getattr(ChromaIndex, name)

    def noted(*given: Any) -> Any:
        found = plain(*given)
        if found is not None:
            ways.append(name)
        return found

    monkeypatch.setattr(ChromaIndex, name, noted)


def test_a_filter_holds_even_where_facets_say_otherwise(index: ChromaIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = vectors(60)
    index.apply(changes(rows), position=1)
    monkeypatch.setattr(chroma, "EXACT_KEYS", 2)
    keys = np.array([2, 5, 8, 11, 14, 77])
    wrong = Allowed(keys, (("third:0",),))
    assert sorted(index.search(rows[0], 10, wrong).keys) == [2, 5, 8, 11, 14]
    assert index.search(rows[0], 10, Allowed(np.zeros(0, dtype=np.int64))).keys == []
    assert sorted(index.search(rows[0], 10, Allowed(np.array([3, 4, 999]))).keys) == [3, 4]


def test_chunks_that_have_a_facet(index: ChromaIndex) -> None:
    index.apply(changes(vectors(60)), position=1)
    assert sorted(index.search(Facets(["document:2", "document:4"]), 100).keys) == [*range(11, 21), *range(31, 41)]
    assert len(index.search(Facets(["third:0"]), 5).keys) == 5
    assert index.search(Facets(["document:2"]), 100, Allowed(np.array([12, 13, 44]))).keys == [12, 13]
    assert index.search(Facets(["document:2"]), 100, Allowed(np.array([12]), (("third:0",),))).keys == [12]
    assert index.search(Facets(["document:9"]), 5).keys == index.search(Facets([]), 5).keys == []


@pytest.mark.parametrize("most", [40, 7])
def test_a_filter_without_a_list_of_keys(index: ChromaIndex, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnotes.index.chroma.metadata.MOST_TERMS", most)
    rows = vectors(400)
    index.apply(changes(rows), position=1)
    nothing = np.zeros(0, dtype=np.int64)
    decades = tuple(f"document:{number}" for number in range(11, 31))
    keys = [key for key in range(101, 301) if key % 3 == 1]
    for query in vectors(5, seed=5):
        found = index.search(query, 12, Allowed(nothing, (decades, ("third:1",)), listed=False))
        assert found.keys == exact(rows, query, keys, 12)
    narrowed = Allowed(nothing, (("third:1",),), listed=False)
    assert sorted(index.search(Facets(decades), 1_000, narrowed).keys) == keys
    assert len(index.search(Facets(decades), 10, narrowed).keys) == 10
    assert index.search(rows[0], 5, Allowed(nothing, (("third:1",), ()), listed=False)).keys == []


def test_words_are_not_its_business(index: ChromaIndex) -> None:
    for call in (lambda: index.search({1: 1.0}, 3), lambda: index.score({1: 1.0}, [1])):
        with pytest.raises(IndexFailed, match="lexical"):
            call()


def test_tenants_and_generations_never_see_each_other(places: Places) -> None:
    database, rows = places.database(), vectors(30)
    mine, yours = database.index(scope("ada")), database.index(scope("bob"))
    later = database.index(scope("ada", generation=2))
    mine.apply(changes(rows[:10]), position=1)
    yours.apply(changes(rows[10:20], first=11), position=2)
    later.apply(changes(rows[20:], first=21), position=3)
    assert [index.keys().tolist()[0] for index in (mine, yours, later)] == [1, 11, 21]
    assert {*mine.search(rows[15], 50).keys} == {*range(1, 11)}
    mine.clear()
    assert (mine.refresh(), yours.refresh(), later.refresh()) == (0, 2, 3)


# ── filling


def test_applying_twice_changes_nothing(index: ChromaIndex) -> None:
    rows = vectors(60)
    index.apply(changes(rows), position=2)
    before = index.search(rows[5], 20)
    index.apply(changes(rows), position=2)
    assert index.keys().tolist() == list(range(1, 61))
    assert index.search(rows[5], 20).keys == before.keys


def test_a_document_that_changed_or_went(index: ChromaIndex) -> None:
    rows = vectors(60)
    index.apply(changes(rows), position=1)
    renewed = [entry(key, 2, rows[key - 41]) for key in (61, 62, 63)]
    index.apply([Change(2, 2, renewed), Change(2, 3, ()), Change(2, 0, (), [(1, 4), (5_000, 3)])], position=2)
    assert index.keys().tolist() == [*range(5, 11), *range(31, 64)]
    assert index.search(rows[20], 1).keys == [61]
    again = [entry(64, 2, rows[1])]
    index.apply([Change(3, 2, renewed), Change(4, 2, again)], position=4)
    assert index.keys().tolist() == [*range(5, 11), *range(31, 61), 64]


def test_what_is_brought_again_takes_the_place_of_what_was(index: ChromaIndex) -> None:
    rows = vectors(3)
    index.apply([Change(1, 1, [entry(1, 1, rows[0], metadata={"a": 1, "b": {"c": [1]}})])], position=1)
    index.apply([Change(2, 1, [entry(1, 1, rows[1], facets=(), metadata={"b": {"d": 2}})])], position=2)
    assert told(index, 1) == {"_document": 1, "_seq": 2, "b.d": 2}
    assert index.search(Facets(["third:1"]), 5).keys == []
    assert index.search(rows[1], 1).scores == pytest.approx([1.0], abs=1e-3)


def test_repair_with_the_same_number(index: ChromaIndex) -> None:
    rows = vectors(30)
    index.apply(changes(rows), position=5)
    index.remove([3, 12, 999])
    assert index.keys().tolist() == [key for key in range(1, 31) if key not in (3, 12)]
    index.apply(changes(rows[:20], seq=5), position=5)
    assert index.keys().tolist() == list(range(1, 31))


def test_chunks_without_a_vector_are_left_out(index: ChromaIndex) -> None:
    rows = vectors(4)
    entries = [entry(1, 1, rows[0]), Entry(2, 1), entry(3, 1, rows[2])]
    index.apply([Change(1, 1, entries), Change(1, 2, [Entry(4, 2)])], position=1)
    assert index.keys().tolist() == [1, 3]


def test_batches_beyond_what_it_takes_at_once(places: Places) -> None:
    rows = vectors(250)
    index = places.database(index_options={"batch": 30}).index(scope())
    index.apply(changes(rows, per_document=100), position=1)
    assert index.keys().tolist() == list(range(1, 251))
    index.apply([Change(2, number, ()) for number in (1, 2, 3)], position=2)
    assert index.keys().tolist() == []
    big = places.database(index_options={"batch": 5_000, "max_neighbors": 4, "ef_construction": 4}).index(scope("big"))
    big.apply(changes(vectors(6_000, dimensions=D), per_document=6_000), position=1)
    assert len(big.keys()) == 6_000


def test_cut_off_in_the_middle_and_mended(places: Places) -> None:
    rows = vectors(200)
    index = places.database(index_options={"batch": 20}).index(scope())

    def cut_off(seq: int, first: int) -> Iterator[Change]:
        yield from changes(rows[:100], seq=seq, first=first)
        raise KeyError("power")

    with pytest.raises(KeyError):
        index.apply(cut_off(1, 1_001), position=1)
    assert index.refresh() == 0
    index.apply(changes(rows), position=2)
    assert index.keys().tolist() == list(range(1, 201))
    with pytest.raises(KeyError):
        index.apply(cut_off(3, 1), position=3)
    assert index.refresh() == 2
    index.apply(changes(rows[:150], seq=3), position=3)
    assert index.refresh() == 3 and index.keys().tolist() == list(range(1, 201))


def test_what_another_model_filled_is_filled_anew(places: Places) -> None:
    database = places.database()
    database.index(scope()).apply(changes(vectors(30)), position=9)
    other = database.index(scope(fingerprint="other", dimensions=4))
    assert other.refresh() == 0 and other.keys().tolist() == []
    other.apply(changes(vectors(5, dimensions=4)), position=3)
    assert other.refresh() == 3 and other.keys().tolist() == [1, 2, 3, 4, 5]
    assert database.index(scope()).refresh() == 0


def test_copying_leaves_everything_as_it_was(index: ChromaIndex) -> None:
    rows = vectors(120)
    index.apply(changes(rows), position=3)
    index.apply([Change(4, 2, ())], position=4)
    before = index.search(rows[3], 20)
    index.compact()
    assert index.refresh() == 4 and index.search(rows[3], 20).keys == before.keys
    assert len(index.keys()) == 110 and len(index.search(Facets(["document:3"]), 50).keys) == 10


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    metadata=st.dictionaries(
        st.text(max_size=4),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**65), 2**65)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=6),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_metadata_comes_back_as_it_went(index: ChromaIndex, metadata: dict[str, JsonValue]) -> None:
    index.apply([Change(1, 1, [entry(1, 1, vectors(1)[0], metadata=metadata)])], position=1)
    assert restored(told(index, 1)) == metadata


def test_metadata_that_cannot_be_kept_is_named(index: ChromaIndex) -> None:
    with pytest.raises(IndexFailed, match="chunk 1"):
        index.apply([Change(1, 1, [entry(1, 1, vectors(1)[0], metadata={"a": float("nan")})])], position=1)
    with pytest.raises(IndexFailed, match="chunk 2"):
        index.apply([Change(1, 1, [entry(2, 1, vectors(1)[0][:3])])], position=1)


# ── what is not ours, and what goes


def test_a_collection_of_somebody_else_is_left_alone(index: ChromaIndex) -> None:
    theirs = collection(index, configuration={"hnsw": {"space": "cosine"}}, metadata={"owner": "somebody"})
    theirs.add(ids=["a"], embeddings=vectors(1))
    for call in (index.refresh, index.clear, index.compact, index.keys, lambda: index.apply([], position=1)):
        with pytest.raises(IndexForeign, match="not made by Footnotes"):
            call()
    with pytest.raises(IndexForeign):
        index.search(vectors(1)[0], 1)
    assert collection(index).count() == 1


def test_records_of_somebody_else_are_noticed(index: ChromaIndex) -> None:
    index.apply(changes(vectors(10)), position=1)
    collection(index).add(ids=["theirs"], embeddings=vectors(1, seed=8))
    for call in (index.keys, lambda: index.search(vectors(1, seed=8)[0], 1)):
        with pytest.raises(IndexForeign, match="did not put there"):
            call()


@pytest.mark.parametrize(("space", "dimensions", "said"), [("l2", D, "compares by l2"), ("cosine", 5, "5 dimensions")])
def test_another_space_or_dimension(index: ChromaIndex, space: str, dimensions: int, said: str) -> None:
    mark = index._calls._metadata_with(4)
    made = collection(index, configuration={"hnsw": {"space": space}}, metadata=mark)
    made.add(ids=["1"], embeddings=vectors(1, dimensions=dimensions))
    for call in (index.refresh, lambda: index.search(vectors(1)[0], 1), lambda: index.apply([], position=5)):
        with pytest.raises(IndexMismatch, match=said):
            call()


def test_a_question_of_the_wrong_length(index: ChromaIndex) -> None:
    index.apply(changes(vectors(10)), position=1)
    with pytest.raises(IndexMismatch):
        index.search(np.ones(3, dtype=np.float32), 1)


def test_a_collection_that_goes_is_missed(places: Places, index: ChromaIndex) -> None:
    rows = vectors(20)
    index.apply(changes(rows), position=1)
    other = places.database().index(scope())
    assert other.refresh() == 1
    index.clear()
    with pytest.raises(IndexMissing, match="no such collection"):
        other.search(rows[0], 1)
    assert other.position == 0 and other.search(rows[0], 1).keys == []
    other.apply(changes(rows), position=1)

    def taken_away() -> Iterator[Change]:
        other.clear()
        yield from changes(rows)

    with pytest.raises(IndexMissing):
        index.apply(taken_away(), position=2)
    with pytest.raises(IndexMissing):
        other.apply(iter([]), position=1)
        index.clear()
        other._calls.mark(other._known, 5)  # type: ignore[arg-type]


def test_one_that_was_made_anew_by_another_process_is_found(places: Places, index: ChromaIndex) -> None:
    rows = vectors(20)
    index.apply(changes(rows), position=1)
    other = places.database().index(scope())
    other.clear()
    other.apply(changes(rows[:5]), position=2)
    assert {*index.search(rows[0], 50).keys} == {1, 2, 3, 4, 5} and index.position == 2


@pytest.mark.parametrize("option", ["tenant", "database"])
def test_a_tenant_or_database_that_is_not_there(places: Places, option: str) -> None:
    index = places.database(index_options={option: "nobody-made-it"}).index(scope())
    assert index.refresh() == 0
    with pytest.raises(IndexFailed, match="does not exist"):
        index.apply(changes(vectors(3)), position=1)
