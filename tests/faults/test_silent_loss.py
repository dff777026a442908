"""What is gone is said to be gone: a missing or cut database, a damaged log, an index that knows more."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from footnotes.errors import StoreCorrupt
from footnotes.library import Library
from footnotes.settings import load
from libraries import quick_library

DATABASE = "footnotes.db"
_KILLED = """
import os, signal, sys, footnotes
library = footnotes.open(sys.argv[1], embedder="hashing")
for number in range(6):
    library.add_text(f"document {number} about puffin{number}", filename=f"{number}.txt", source=str(number))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library whose last writer was killed: most of it is in the write-ahead log."""
    subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path / "library")], check=False)
    return tmp_path / "library"


def remove_database(folder: Path) -> None:
    for path in folder.glob(f"{DATABASE}*"):
        path.unlink()


@pytest.mark.parametrize("create", [True, False])
def test_a_missing_database_beside_its_indexes_is_no_new_library(folder: Path, create: bool) -> None:
    remove_database(folder)
    with pytest.raises(StoreCorrupt, match="missing"):
        Library(folder, settings=load(folder, embedder="hashing"), create=create)
    assert not (folder / DATABASE).exists(), "nothing is made in its place"


def test_an_empty_database_beside_its_indexes_is_no_new_library(folder: Path) -> None:
    remove_database(folder)
    (folder / DATABASE).touch()
    with pytest.raises(StoreCorrupt, match="empty"):
        quick_library(folder)
    assert (folder / DATABASE).stat().st_size == 0


def test_the_marker_alone_tells_that_there_was_a_library(folder: Path) -> None:
    shutil.rmtree(folder / "index")
    remove_database(folder)
    with pytest.raises(StoreCorrupt):
        quick_library(folder)


def test_a_folder_that_never_was_a_library_becomes_one(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / DATABASE).touch()  # a first start that was killed
    with quick_library(tmp_path / "library") as library:
        assert library.add_text("a beginning", filename="a.txt").status == "ready"


def test_every_flipped_bit_in_the_log_is_noticed(folder: Path, tmp_path: Path) -> None:
    log = (folder / f"{DATABASE}-wal").read_bytes()
    shutil.copytree(folder, tmp_path / "undamaged")
    with quick_library(tmp_path / "undamaged") as library:
        assert library.verify().ok and len(library.documents()) == 6, "the control: an undamaged log is all right"
    noticed = trials = 0
    for at in range(40, len(log), len(log) // 12):
        copy = tmp_path / f"copy{at}"
        shutil.copytree(folder, copy)
        damaged = bytearray(log)
        damaged[at] ^= 4
        (copy / f"{DATABASE}-wal").write_bytes(bytes(damaged))
        trials += 1
        try:
            with quick_library(copy) as library:
                found = library.verify()
                whole = len(library.documents()) == 6 and all(d.status == "ready" for d in library.documents())
                noticed += bool(found.problems) or whole
        except StoreCorrupt:
            noticed += 1
    assert noticed == trials > 10


def test_an_index_that_knows_more_than_the_database_is_a_problem(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with quick_library(folder):
        pass
    shutil.copy(folder / DATABASE, tmp_path / "older.db")
    with quick_library(folder) as library:
        library.add_text("the last one about guillemots", filename="last.txt")
    remove_database(folder)
    shutil.copy(tmp_path / "older.db", folder / DATABASE)
    with caplog.at_level(logging.WARNING, "footnotes"), quick_library(folder) as library:
        assert "lost" in caplog.text
        assert library.search("puffin3").hits[0].filename == "3.txt", "what is there is served"
        found = library.verify()
        assert not found.ok and all("lost" in problem.what for problem in found.problems)
        assert library.verify(repair=True).ok
        assert library.verify().ok, "a loss that was looked at is not told for ever"
