"""Short versions of the long campaigns, and that they would see what they look for."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from killing import IS_LINUX
from libraries import quick_library
from oracle import Oracle
from postgres import PostgresServer
from serving import serving
from torture import FEW_ROWS, Budget, Row, table
from torture.damage import LATE, build, damage, die, examine
from torture.judge import judge, noted
from torture.kills import kills
from torture.schema import schema
from torture.syscalls import kills_at_calls, places, slow_calls
from torture.tenancy import tenancy

GENEROUS = {"serve_rate": 10**6, "serve_burst": 10**6, "serve_answers": 10**9}


@pytest.fixture(autouse=True)
def _graphs_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnotes.index.dense.SCANNED_ROWS", FEW_ROWS)


def opened(folder: Path, *, needs_keys: bool, **settings: Any) -> Any:
    @contextmanager
    def server() -> Any:
        with serving(folder, needs_keys=needs_keys, **GENEROUS, **settings) as running:
            yield running

    return server


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_tenants_at_random(tmp_path: Path, store: str, request: pytest.FixtureRequest) -> None:
    postgres: PostgresServer | None = request.getfixturevalue("postgres") if store == "postgresql" else None
    address = postgres.fresh() if postgres else ""
    steps = 100 if store == "sqlite" else 40
    row = tenancy(store, opened(tmp_path / "library", needs_keys=True, store=address), budget=Budget(steps), seed=7)
    assert row.is_clean and row.trials == steps, row.cases


def test_a_leak_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a search that adds a passage of the library that searched before."""
    search, before = Library.search, dict[str, Any]()

    def leaking(self: Library, *given: Any, **options: Any) -> Any:
        found = search(self, *given, **options)
        hits = [*found.hits, *(hit for user, hits in before.items() if user != self.settings.user for hit in hits)]
        before[self.settings.user] = found.hits
        import dataclasses

        return dataclasses.replace(found, hits=tuple(hits))

    monkeypatch.setattr(Library, "search", leaking)
    row = tenancy("leaking", opened(tmp_path / "library", needs_keys=True), budget=Budget(150), seed=7)
    assert row.leaked and not row.is_clean


def test_requests_at_random(tmp_path: Path) -> None:
    row = schema("sqlite", opened(tmp_path / "library", needs_keys=False), budget=Budget(70))
    assert row.is_clean and row.trials > 50, row.cases


def test_files_mutated_at_random() -> None:
    pytest.importorskip("atheris", reason="the fuzzer needs the extra footnotes[torture]")
    from format_samples import SAMPLES
    from torture.parsers import parsers

    row = parsers("files", {name: make() for name, make in SAMPLES.items()}, budget=Budget(60), seed=1)
    assert row.is_clean and row.trials >= 60, row.cases


def test_a_parser_that_breaks_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torture.parsers import parse_one

    def breaks(*_: Any, **__: Any) -> Any:
        raise KeyError("unforeseen")

    (tmp_path / "a.txt").write_text("Storks winter in Africa.")
    row = Row("control")
    monkeypatch.setattr("footnotes.parse.open.parse_document", breaks)
    parse_one(tmp_path / "a.txt", row)
    assert row.crashed == 1


def test_the_table_says_what_was_tried() -> None:
    row = Row("tenants", trials=1_000)
    row.note("leaked", "a: GET /v1/documents shows b")
    assert table([row]).splitlines()[2] == "| tenants | 1,000 | 0 | 0 | 1 | 0 | 0 |"


@pytest.mark.skipif(not IS_LINUX, reason="inotify is needed to see files change")
def test_writers_killed_at_random_file_events() -> None:
    row = kills("kills", budget=Budget(6), seed=1)
    assert row.is_clean and row.trials > 3, row.cases


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is needed to kill at a system call")
@pytest.mark.parametrize("postgres", [False, True])
def test_writers_killed_at_random_system_calls(postgres: bool) -> None:
    row = kills_at_calls("kills", budget=Budget(5), seed=3, made=partial(places, postgres=postgres))
    assert row.is_clean and row.trials == 5, row.cases


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is needed to make system calls slow")
def test_a_slow_disk_loses_nothing() -> None:
    row = slow_calls("slow", budget=Budget(1), seed=1, made=places)
    assert row.is_clean and row.trials == 1, row.cases


def test_files_damaged_at_random() -> None:
    row = damage("damage", budget=Budget(8), seed=1)
    assert row.is_clean and row.trials == 8, row.cases


def test_a_document_lost_in_silence_would_be_seen(tmp_path: Path) -> None:
    """The control of both: a document that went without a word."""
    build(tmp_path / "library", first=0, late=LATE)
    assert examine(tmp_path / "library", is_truth=True) == []
    with quick_library(tmp_path / "library") as library:
        gone = library.documents()[100]
        library.delete(gone.id)
    assert examine(tmp_path / "library", is_truth=True) == [("lost", "1 documents, in silence")]
    oracle, row = Oracle(), Row("control")
    oracle.read(f"+ {gone.source} 1")
    with noted(row, "control"):
        judge(tmp_path / "library", oracle, 1)
    assert row.lost == 1, row.cases


def test_a_process_that_dies_would_be_seen(tmp_path: Path) -> None:
    ((kind, case),) = examine(tmp_path, is_truth=False, use=die)
    assert kind == "crashed" and "-6" in case


def test_the_table_says_what_was_skipped() -> None:
    assert "| power cuts (skipped: there is no /dev/fuse) | 0 |" in table(
        [Row("power cuts", skipped="there is no /dev/fuse")]
    )
