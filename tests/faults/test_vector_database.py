"""A vector database that is away, emptied, foreign or refuses: nothing is lost, nothing is wrong, and it is said."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import footnotes
from command_line import run
from footnotes.errors import ConfigError, IndexUnavailable, SearchUnavailable
from footnotes.library import Library
from postgres import PostgresServer
from qdrant import QdrantServer, asked, running

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def own_server() -> Iterator[QdrantServer]:
    """A Qdrant that may be stopped and killed without anybody else noticing."""
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, own_server: QdrantServer, postgres: PostgresServer
) -> Callable[..., Library]:
    """Opens one library again and again, over either store, with the dense leg in Qdrant."""
    store = {"store": postgres.fresh()} if request.param == "postgresql" else {}
    index = f"{own_server.address}/faults{next(_NUMBERS)}"

    def open_it(**settings: Any) -> Library:
        chosen = {"embedder": "hashing", "index": index, "index_seconds": 5.0, **store, **settings}
        return footnotes.open(tmp_path / "library", **chosen)

    return open_it


def _away(server: QdrantServer) -> Any:
    """The server is away while this lasts, and back afterwards."""

    class Away:
        def __enter__(self) -> None:
            server.kill()

        def __exit__(self, *_: object) -> None:
            server.start()

    return Away()


def _filled(library: Library, count: int = 6) -> None:
    for number in range(count):
        library.add_text(f"A text about subject{number} and others.", filename=f"{number}.txt", source=f"s{number}")


def _settled(library: Library, seconds: float = 120.0) -> bool:
    """Whether the vector database has caught up by itself, asked by searching as anybody would."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(SearchUnavailable):  # both legs are there, and it is just being filled
            if not library.search("subject1").degraded:
                return True
        time.sleep(0.2)
    return False


def _statuses(library: Library) -> set[str]:
    return {document.status for document in library.documents()}


def test_searches_go_on_with_the_other_leg_and_say_why(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        _filled(library)
        assert not library.search("subject3").degraded
        with _away(own_server):
            found = library.search("subject3")
            assert found.hits[0].filename == "3.txt" and found.degraded
            assert found.legs["lexical"].status == "ok"
            assert found.legs["dense"].status == "failed" and "index_unavailable" in str(found.legs["dense"].reason)
            assert own_server.address not in str(found), "where it is, is not the business of the caller"
            assert library.search("subject3", mode="lexical").degraded is False
        assert _settled(library)


def test_an_empty_library_lacks_nothing(opened: Callable[..., Library]) -> None:
    with opened() as library:
        document = library.add_text("One text.", filename="one.txt").document_id
        library.delete(str(document))
    with opened(user="somebody else") as library:
        library.set_collection("empty")
        assert not library.search("anything").degraded and library.verify().ok
    with opened() as library:
        assert not library.search("anything").degraded and library.verify().ok


def test_what_is_written_meanwhile_follows_by_itself(opened: Callable[..., Library], own_server: QdrantServer) -> None:
    with opened() as library:
        _filled(library)
        gone, changed = library.documents()[0], library.documents()[1]
        with _away(own_server):
            added = library.add_text("A text about okapis.", filename="okapi.txt", source="okapi")
            assert added.status == "indexing" and "index_unavailable" in added.warnings[-1]
            library.delete(gone.id)
            library.add_text(
                "Subject1 is another now.", filename="1.txt", source=changed.source, metadata={"kind": "new"}
            )
            assert library.search("okapis").hits[0].filename == "okapi.txt"
            assert "indexing" in _statuses(library)
            state = library.status()["index"]
            assert state["behind"] >= 2 and state["error"]["code"] == "index_unavailable"
            assert library.search("okapis").degraded
    with opened() as library:
        assert _settled(library)
        assert _statuses(library) == {"ready"} and library.verify().ok
        assert {hit.filename for hit in library.search("text subject", mode="dense", limit=50).hits} == {
            document.filename for document in library.documents()
        }
        assert library.status()["index"]["behind"] == 0


def test_who_deletes_does_not_wait_for_a_database_that_hangs(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened(index_seconds=2.5) as library:
        _filled(library)
        gone = library.documents()[0]
        own_server.pause()
        try:
            library.delete(gone.id)
            failure = library.index_failure
            assert failure is not None and failure.code == "index_unavailable"
            assert gone.filename not in {hit.filename for hit in library.search("subject0 text", limit=20).hits}
        finally:
            own_server.resume()
        assert _settled(library, 60) and library.verify().ok
        prefix = library.status()["index"]["address"].rpartition("/")[2]
    with asked(own_server) as client:
        names = [one.name for one in client.get_collections().collections if one.name.startswith(f"{prefix}-")]
        payloads = [point.payload or {} for name in names for point in client.scroll(name, limit=1000)[0]]
    assert payloads and gone.filename not in str(payloads)


def test_the_same_file_again_while_it_is_away_is_the_same_document(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        with _away(own_server):
            library.add_text("A text about okapis.", filename="okapi.txt", source="okapi")
            again = library.add_text("A text about okapis.", filename="okapi.txt", source="okapi")
            assert again.status == "deduplicated" and len(library.documents()) == 1
        assert _settled(library) and _statuses(library) == {"ready"}


def test_an_emptied_database_is_filled_again_without_the_embedder(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        _filled(library)
        embedded = library.embedder().texts  # type: ignore[attr-defined]
        with asked(own_server) as client:
            for collection in client.get_collections().collections:
                client.delete_collection(collection.name)
        first = library.search("subject2")
        assert first.hits[0].filename == "2.txt" and first.degraded
        assert _settled(library) and library.verify().ok
        assert library.embedder().texts <= embedded + 50  # type: ignore[attr-defined]  # questions alone


def test_points_that_somebody_deleted_are_missed_at_once(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    """The collection is there, and empty: what finds nothing says why, and is mended by itself."""
    from qdrant_client import models

    with opened() as library:
        _filled(library)
    with asked(own_server) as client:
        for collection in client.get_collections().collections:
            client.delete(collection.name, models.FilterSelector(filter=models.Filter()), wait=True)
    with opened() as library:
        found = library.search("subject2")
        assert found.degraded and "lost what it was brought" in str(found.legs["dense"].reason)
    with opened() as library:
        assert _settled(library) and library.verify().ok


def test_a_leg_chosen_later_is_brought(opened: Callable[..., Library]) -> None:
    with opened() as library:
        _filled(library)
        before = [hit.filename for hit in library.search("subject2 text", mode="lexical").hits]
    with opened(index_legs=["dense", "lexical"]) as library:
        assert library.search("subject2", mode="dense").degraded
        assert _settled(library) and library.verify().ok
        assert [hit.filename for hit in library.search("subject2 text", mode="lexical").hits] == before


def test_what_is_there_already_is_brought_by_the_first_write(opened: Callable[..., Library]) -> None:
    with opened(index="") as library:
        _filled(library)
    with opened() as library:
        again = library.add_text("A text about subject1 and others.", filename="1.txt", source="s1")
        assert again.status == "deduplicated" and library.status()["index"]["behind"] == 0


def test_a_reindex_is_refused_while_it_is_away_and_the_old_one_serves(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        _filled(library)
        with _away(own_server), pytest.raises(IndexUnavailable):
            library.reindex(chunker="window", chunker_options={"size": 100, "overlap": 0})
        assert _settled(library) and library.verify().ok
        library.reindex(chunker="window", chunker_options={"size": 100, "overlap": 0})
        assert _settled(library) and library.verify().ok
        assert library.search("subject4", mode="dense", limit=20).legs["dense"].status == "ok"


def test_a_generation_dropped_while_it_is_away_is_emptied_when_it_is_back(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        _filled(library)
        library.reindex(chunker="window", chunker_options={"size": 100, "overlap": 0}, keep=True)
        kept = next(one for one in library.status()["generations"] if one["state"] == "kept")
        with _away(own_server):
            library._store.generations._drop_kept(library.settings.user, but=None)  # type: ignore[attr-defined]
        library.add_text("One more.", filename="more.txt")
        assert _settled(library) and library.verify().ok
        left = _generations(own_server, library.status()["index"]["address"].rpartition("/")[2])
    assert left and kept["id"] not in left


def _generations(server: QdrantServer, prefix: str) -> set[int]:
    """The generations that have points in the collections of a prefix."""
    with asked(server) as client:
        names = [one.name for one in client.get_collections().collections if one.name.startswith(f"{prefix}-")]
        payloads = [point.payload or {} for name in names for point in client.scroll(name, limit=1000)[0]]
    return {payload["generation"] for payload in payloads if "generation" in payload}


@pytest.mark.parametrize("index", ["", "qdrant"])
@pytest.mark.parametrize("later", [1, 12])
def test_a_library_put_back_from_a_copy_is_brought_anew(
    tmp_path: Path, own_server: QdrantServer, index: str, later: int
) -> None:
    """What the indexes have seen is more than what the copy knows of, or less once much was written: all is found."""
    folder, copy, texts = tmp_path / "library", tmp_path / "copy", tmp_path / "texts"
    chosen = {"embedder": "hashing", "index": index and f"{own_server.address}/faults{next(_NUMBERS)}"}
    with footnotes.open(folder, **chosen) as library:
        _filled(library, 3)
    shutil.copy(folder / "footnotes.db", copy)
    with footnotes.open(folder, **chosen) as library:
        _filled(library, 8)
    shutil.copy(copy, folder / "footnotes.db")
    texts.mkdir()
    for number in range(later):
        (texts / f"later{number}.txt").write_text(f"A text about later{number} and others.")
    with footnotes.open(folder, **chosen) as library:
        library.add(texts)
        there = {document.filename for document in library.documents()}
        assert len(there) == 3 + later and _statuses(library) == {"ready"}
        for mode in ("lexical", "dense"):
            assert {hit.filename for hit in library.search("text others", mode=mode, limit=50).hits} == there
        assert any("change" in problem.what for problem in library.verify().problems), "that commits are gone is said"
        library.verify(repair=True)
        assert library.verify().ok


@pytest.mark.parametrize("legs", [["dense"], ["dense", "lexical"]])
def test_a_database_chosen_later_is_filled_with_what_is_there(opened: Callable[..., Library], legs: list[str]) -> None:
    with opened(index="") as library:
        _filled(library)
        before = [(hit.filename, round(hit.score, 2)) for hit in library.search("subject2 text", limit=3).hits]
    with opened(index_legs=legs) as library:
        with suppress(SearchUnavailable):  # both legs are there, and it is just being filled
            assert library.search("subject2").legs["dense"].status in ("pending", "failed")
        assert _settled(library) and library.verify().ok
        after = [(hit.filename, round(hit.score, 2)) for hit in library.search("subject2 text", limit=3).hits]
        assert after[0] == before[0]
    with opened(index="") as library:
        added = library.add_text("And back again, subject9.", filename="9.txt")
        assert added.status == "ready" and _statuses(library) == {"ready"}
        assert library.verify().ok and library.search("subject9", mode="dense").hits
    with opened(index_legs=legs) as library:
        assert library.search("subject9").legs["dense"].status in ("pending", "failed")
        assert _settled(library) and library.verify().ok and library.search("subject9", mode="dense").hits


def test_a_copy_is_brought_to_the_database_of_its_new_store(
    tmp_path: Path, own_server: QdrantServer, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with footnotes.open(tmp_path / "library", embedder="hashing") as library:
        _filled(library)
    address, index = postgres.fresh(), f"{own_server.address}/faults{next(_NUMBERS)}"
    chosen = {"embedder": "hashing", "index": index}
    for name, value in chosen.items():
        monkeypatch.setenv(f"FOOTNOTES_{name.upper()}", value)
    done = run("copy", str(tmp_path / "library"), address)
    assert done.exit_code == 0, done.output
    with footnotes.open(tmp_path / "other", store=address, **chosen) as library:
        assert library.search("subject2").legs["dense"].status in ("pending", "ok")
        assert _settled(library) and library.verify().ok
        assert len(library.search("subject2", mode="dense", limit=50).hits) == 6


def test_a_database_given_up_while_it_was_away_keeps_nobody_waiting(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library, _away(own_server):
        assert library.add_text("A text about okapis.", filename="okapi.txt").status == "indexing"
    with opened(index="") as library:
        library.resume()
        assert _statuses(library) == {"ready"} and library.verify().ok
        assert library.search("okapis", mode="dense").hits


def test_an_alias_leads_to_what_serves_from_the_first_document_on(
    opened: Callable[..., Library], own_server: QdrantServer
) -> None:
    with opened() as library:
        _filled(library, 2)
        prefix = library.status()["index"]["address"].rpartition("/")[2]
        before = _aliases(own_server, prefix)
        library.reindex(embedder="hashing:32")
        assert library.verify().ok and not library.search("subject1").degraded
    after = _aliases(own_server, prefix)
    assert len(before) == len(after) == 1 and before.keys() == after.keys(), "one tenant, one alias"
    assert before != after, "another model, another collection"


def _aliases(server: QdrantServer, prefix: str) -> dict[str, str]:
    with asked(server) as client:
        found = client.get_aliases().aliases
    return {one.alias_name: one.collection_name for one in found if one.alias_name.startswith(f"{prefix}.")}


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    wrong = [
        {"index": "qdrant"},
        {"index": "milvus://host"},
        {"index": "qdrant://host", "index_legs": []},
        {"index": "qdrant://host", "index_legs": ["sparse"]},
        {"index": f"chroma:{tmp_path}", "index_legs": ["lexical"]},
        {"index": "qdrant://host", "index_options": {"sharks": 2}},
        {"index": "qdrant://user:hunter2@ho st"},
    ]
    for settings in wrong:
        with pytest.raises(ConfigError) as caught:
            footnotes.open(tmp_path / "library", embedder="hashing", **settings)
        assert caught.value.remedy and "hunter2" not in str(caught.value)


def test_a_wrong_key_and_a_foreign_collection_are_named(tmp_path: Path) -> None:
    with running(api_key="right") as server:
        chosen = {"embedder": "hashing", "index": f"{server.address}/keyed"}
        with footnotes.open(tmp_path / "library", index_api_key="wrong-secret", **chosen) as library:
            added = library.add_text("A text about okapis.", filename="okapi.txt")
            assert added.status == "indexing" and "index_refused" in added.warnings[-1]
            found = library.search("okapis")
            assert found.hits and "index_refused" in str(found.legs["dense"].reason)
            assert "wrong-secret" not in str(found) + str(library.status())
            assert not library.verify().ok
        with footnotes.open(tmp_path / "library", index_api_key="right", **chosen) as library:
            assert _settled(library) and library.verify().ok and _statuses(library) == {"ready"}
            name = library._store.remote.index(library._store.generations.serving("local"))._name  # type: ignore[attr-defined]
        _make_foreign(server, name)
        with footnotes.open(tmp_path / "library", index_api_key="right", **chosen) as library:
            problems = [problem.what for problem in library.verify(repair=True).problems]
            assert len(problems) == 1 and ("index_foreign" in problems[0] or "index_mismatch" in problems[0])
            assert library.search("okapis").hits


def _make_foreign(server: QdrantServer, name: str) -> None:
    from qdrant_client import models

    with asked(server) as client:
        client.delete_collection(name)
        client.create_collection(name, vectors_config=models.VectorParams(size=7, distance=models.Distance.DOT))
        client.upsert(name, [models.PointStruct(id=1, vector=[1.0] * 7, payload={"theirs": True})], wait=True)
