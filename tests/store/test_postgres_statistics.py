"""What is known of terms is counted while chunks are written, and is what the chunks say."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.ingest import pipeline
from footnotes.library import Library
from footnotes.store.postgres.cursor import SQL
from footnotes.store.postgres.database import Connection
from footnotes.store.statements import load_queries
from libraries import HANDBOOK, TRAVEL, quick_library, words
from postgres import PostgresServer

ODD = [
    "O'Neill's C:\\temp\\new 'quoted' \\' back\\\\slash don't stop",
    "nul\x00inside and caf\u00e9 CAF\u00c9 Stra\u00dfe",
    "\u6771\u4eac\u90fd \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \U0001f600",
    "x" * 3_000 + " " + "y" * 600 + " chunks length",
    "# A heading\n\nBody under the heading.\n\n## A heading\n\nheading heading body",
    "def open_file(path): return path\n",
]


def counted(library: Library) -> dict[str, tuple[int, ...]]:
    """What is known of every term, however many rows tell it."""
    serving = library._store.generations.serving("local")
    assert serving is not None
    found: dict[str, tuple[int, ...]] = {}
    with library._store.database.owning() as connection:  # type: ignore[attr-defined]
        for term, *counts in connection.fetch(
            "SELECT term, sum(body), sum(title), sum(section), sum(symbols) FROM statistics WHERE generation = $1"
            " GROUP BY term",
            serving.pk,
        ):
            found[term] = tuple(int(count) for count in counts)
    return found


def add_odd_texts(library: Library) -> None:
    for number, text in enumerate(ODD):
        library.add_text(text, filename=f"o'dd \\{number}.{'py' if text.startswith('def') else 'md'}")
    library.add_text(HANDBOOK, filename="handbook.md")


def test_odd_terms_are_counted_as_the_database_counts_them(postgres: PostgresServer, tmp_path: Path) -> None:
    with quick_library(tmp_path / "library", store=postgres.fresh()) as library:
        add_odd_texts(library)
        assert not library.verify().problems
        before = counted(library)
        serving = library._store.generations.serving("local")
        assert serving is not None
        library._store.rebuild_legs(serving)
        assert counted(library) == before and before[" chunks"][0] > len(ODD)


def test_chunks_are_not_read_again_to_count_their_terms(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = Connection.execute

    def noting(self: Connection, statement: str, *bindings: object) -> int:
        asked.append(statement)
        return real(self, statement, *bindings)

    monkeypatch.setattr(Connection, "execute", noting)
    queries = load_queries(SQL)
    with quick_library(tmp_path / "library", store=postgres.fresh()) as library:
        library.add_text(TRAVEL, filename="a.txt")
    assert queries["put_statistics"].sql in asked and queries["note_chunks"].sql not in asked


def test_prepared_files_bring_the_terms_that_would_be_found(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "notes").mkdir()
    for number, text in enumerate([*ODD, *map(words, range(290))]):
        (folder / f"note{number:04}.txt").write_bytes(text.replace("\x00", " ").encode())
    known = []
    for least in (10, 1_000_000):
        monkeypatch.setattr(pipeline, "WORTH_A_PREPARER", least)
        monkeypatch.setattr(pipeline, "cores", lambda: 2)
        with quick_library(tmp_path / f"library{least}", store=postgres.fresh()) as library:
            assert {each.status for each in library.add(folder)} == {"ready"}
            assert library.search("marker288", mode="lexical", limit=1).hits[0].filename == "note0294.txt"
            known.append(counted(library))
    assert known[0] == known[1]
