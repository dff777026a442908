"""Choosing the store: clear errors, and a password that nobody gets to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import run
from libraries import TRAVEL, quick_library
from postgres import PostgresServer

SECRET = "hunter2secret"


def test_status_says_which_store_it_is(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh().replace("postgres@", f"postgres:{SECRET}@")
    with quick_library(tmp_path / "library", store=address) as library:
        library.add_text(TRAVEL, filename="a.txt")
        status = library.status()
        assert status["store"] == "postgresql" and status["disk_bytes"] > 0
        assert SECRET not in str(status) and status["address"].startswith("postgresql://postgres:…@")
    with quick_library(tmp_path / "other") as library:
        assert library.status()["store"] == "sqlite"


def test_the_command_that_migrates(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_STORE", postgres.empty())
    monkeypatch.setenv("FOOTNOTES_LIBRARY", str(tmp_path / "library"))
    assert "applied: 1, 2" in run("migrate").output
    assert "nothing to do" in run("migrate").output
    assert '"applied": []' in run("migrate", "--json").output


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_originals_in_a_folder_or_a_bucket(postgres: PostgresServer, tmp_path: Path, place: str) -> None:
    (tmp_path / "kept").mkdir()
    originals = str(tmp_path / "kept") if place == "folder" else f"file://{tmp_path / 'kept'}"
    file = tmp_path / "note.txt"
    file.write_text("The original of a note.")
    options = {"store": postgres.fresh(), "originals": originals, "keep_originals": True}
    with quick_library(tmp_path / "library", **options) as library:
        (added,) = library.add(file)
        assert library.original(str(added.document_id)).read_bytes() == file.read_bytes()
        (kept,) = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
        assert library.verify().ok and library.verify().checked["originals"] == 1
        kept.write_bytes(b"damaged")
        assert "does not match" in library.verify().problems[0].what
        stray = kept.parent / "stray"
        stray.write_text("nobody's")
        assert any("belongs to no document" in problem.what for problem in library.verify().problems)
        library.verify(repair=True)
        assert not stray.exists()
        library.delete(str(added.document_id))
        assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()] and library.verify().ok
