"""The index of vectors in PostgreSQL: its method and options are settings, and a failed build fails nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import run
from footnotes.errors import ConfigError
from libraries import quick_library, words, write
from postgres import PostgresServer

REFUSE_HNSW = """
DO $refuse$ BEGIN
CREATE FUNCTION refuse_hnsw() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_query() LIKE '%USING hnsw%' THEN
        RAISE EXCEPTION 'memory required is 9 GB';
    END IF;
END $$;
CREATE EVENT TRIGGER refuse_hnsw ON ddl_command_start EXECUTE FUNCTION refuse_hnsw();
END $refuse$
"""
REFUSE_ALL = REFUSE_HNSW.replace("%USING hnsw%", "%chunks_dense%")


def built(postgres: PostgresServer, folder: Path, store: str, **settings: Any) -> tuple[dict[str, Any], str]:
    """What the status says of the index after some documents were added, and how the database describes the index."""
    with quick_library(folder, store=store, **settings) as library:
        for number in range(3):
            assert library.add_text(words(number), filename=f"{number}.txt").status == "ready"
        library.settle()
        assert library.search(words(1), mode="dense").hits[0].filename == "1.txt"
        state = library.status()["dense_index"]
    rows = postgres.execute("SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'chunks_dense_%'", address=store)
    return state, rows[0][0] if rows else ""


@pytest.mark.parametrize(
    ("method", "options", "definition"),
    [
        ("", {}, "USING hnsw"),
        ("hnsw", {"m": 8, "ef_construction": 32, "ef_search": 50}, "WITH (m='8', ef_construction='32')"),
        ("ivfflat", {"lists": 2, "probes": 2}, "WITH (lists='2')"),
        ("none", {}, ""),
    ],
)
def test_the_settings_decide_how_it_is_built(
    postgres: PostgresServer, tmp_path: Path, method: str, options: dict[str, int], definition: str
) -> None:
    minimum = {} if method == "none" else {"minimum": 1}
    settings = {"dense_index": method, "dense_index_options": {**options, **minimum}}
    state, index = built(postgres, tmp_path / "library", postgres.fresh(), **settings)
    assert definition in index and bool(definition) == bool(index)
    assert state == {"method": None if method == "none" else method or "hnsw", "error": None}


def test_a_search_reads_as_many_lists_as_the_settings_say(postgres: PostgresServer, tmp_path: Path) -> None:
    store = postgres.fresh()
    database = store.partition("?")[0].rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {database} SET ivfflat.max_probes = 1", address=store)
    found = {}
    for probes in (1, 40):
        options = {"lists": 40, "minimum": 1, "probes": probes}
        with quick_library(
            tmp_path / "library", store=store, dense_index="ivfflat", dense_index_options=options
        ) as library:
            if not found:
                library.add(write(tmp_path / "files", **{f"f{number}_txt": words(number) for number in range(40)}))
                library.settle()
                postgres.execute("REINDEX INDEX chunks_dense_1", address=store)
            found[probes] = len(library.search(words(3), mode="dense", limit=40, per_document=40).hits)
    assert found[1] < 20 and found[40] == 40


@pytest.mark.parametrize(
    ("method", "options", "cause"),
    [
        ("scann", {}, r"no index method 'scann'; it has hnsw, ivfflat"),
        ("annoy", {}, r"dense_index cannot be 'annoy'; it must be one of"),
        ("hnsw", {"lists": 10}, r"'lists' for an index 'hnsw'; its options are m, ef_construction, ef_search, minimum"),
        ("", {"m": 10}, r"'m' for an index that is not named; its options are minimum"),
        ("none", {"minimum": 10}, r"'minimum' for an index 'none'; it has none"),
        ("hnsw", {"m": 1}, r"m of dense_index cannot be 1; it must be from 2 to 100"),
        ("hnsw", {"m": "16"}, r"m of dense_index cannot be '16'"),
        ("hnsw", {"m": 40}, r"ef_construction of dense_index must be at least twice m"),
        ("ivfflat", {"probes": 0}, r"probes of dense_index cannot be 0"),
    ],
)
def test_what_cannot_be_is_an_error_at_the_start(
    postgres: PostgresServer, tmp_path: Path, method: str, options: dict[str, object], cause: str
) -> None:
    with pytest.raises(ConfigError, match=cause):
        quick_library(tmp_path, store=postgres.fresh(), dense_index=method, dense_index_options=options)


def test_a_build_that_fails_falls_back_and_the_status_says_so(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgres.fresh()
    postgres.execute(REFUSE_HNSW, address=store)
    settings = {"dense_index": "hnsw", "dense_index_options": {"minimum": 1, "m": 8}}
    state, index = built(postgres, tmp_path / "library", store, **settings)
    assert "USING ivfflat" in index
    failure = "hnsw cannot be built: the database answered: memory required is 9 GB"
    assert state == {"method": "ivfflat", "error": failure}
    monkeypatch.setenv("FOOTNOTES_STORE", store)
    status = run("status", "--library", str(tmp_path / "library")).output
    assert f"ivfflat ({failure})" in status


def test_without_any_index_every_vector_is_compared(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgres.fresh()
    postgres.execute(REFUSE_ALL, address=store)
    state, index = built(postgres, tmp_path / "library", store, dense_index_options={"minimum": 1})
    assert not index and state["method"] is None
    assert state["error"].startswith("hnsw cannot be built") and "ivfflat cannot be built" in state["error"]
    monkeypatch.setenv("FOOTNOTES_STORE", store)
    status = run("status", "--library", str(tmp_path / "library")).output
    assert "none: searches compare every vector (hnsw cannot be built" in status
