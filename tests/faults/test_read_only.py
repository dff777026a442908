"""A library that may be read but not written: a backup, a mounted image, another person's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from footnotes.errors import StoreError
from libraries import TRAVEL, quick_library


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As far as Footnotes can tell, nothing under the folder may be written; root is not stopped by modes."""
    folder = tmp_path / "library"
    with quick_library(folder) as library:
        library.add_text(TRAVEL, filename="travel.txt")
        library._store.database.checkpoint()
    original = os.access

    def refusing(path: str | Path, mode: int) -> bool:
        inside = Path(path).is_relative_to(folder)
        return False if mode == os.W_OK and inside else original(path, mode)

    monkeypatch.setattr(os, "access", refusing)
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    return folder


def test_reading_needs_no_writing(sealed: Path) -> None:
    before = {path: path.read_bytes() for path in sealed.rglob("*") if path.is_file()}
    with quick_library(sealed) as library:
        result = library.search("hotels")
        assert result.hits[0].filename == "travel.txt" and not result.degraded
        assert library.ask("How much may hotels cost a night?").citations
        assert library.verify().ok
    assert {path: path.read_bytes() for path in sealed.rglob("*") if path.is_file()} == before


def test_writing_is_refused_with_a_code(sealed: Path) -> None:
    with quick_library(sealed) as library, pytest.raises(StoreError):
        library.add_text("More.", filename="more.txt")
