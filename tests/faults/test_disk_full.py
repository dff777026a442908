"""A full disk is an error with a code; what was acknowledged stays readable, and work goes on once there is space."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from footnotes.errors import StoreFull
from footnotes.library import Library
from libraries import TRAVEL, quick_library, words

FILLING = """
import resource, signal, sys, footnotes
from footnotes.errors import FootnotesError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    library.add_text("The first document is safe.", filename="first.txt")
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    try:
        for number in range(400):
            text = f"marker{number} " + " ".join(f"w{number}x{n}" for n in range(1500))
            library.add_text(text, filename=f"{number}.txt")
            print(number, flush=True)
    except FootnotesError as error:
        print("stopped", error.code, flush=True)
        assert library.search("first document", mode="lexical").hits[0].filename == "first.txt"
"""


def test_files_may_not_grow_any_more(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(tmp_path / "l")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *acknowledged, last = done.stdout.split("\n")[:-1]
    assert last in ("stopped storage_full", "stopped store_unavailable"), last
    with quick_library(tmp_path / "l") as library:
        assert library.verify().ok
        names = {document.filename for document in library.documents() if document.status == "ready"}
        assert {f"{number}.txt" for number in acknowledged} <= names
        assert library.add_text(words(1), filename="later.txt").status == "ready"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY, "only the child was limited"


TOO_LARGE = """
import resource, signal, sys, footnotes
from footnotes.errors import FootnotesError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    try:
        library.add_text("word " * 200_000, filename="large.txt")
    except FootnotesError as error:
        print(error.code)
"""


def test_a_text_for_which_there_is_no_room(tmp_path: Path) -> None:
    words_of = [sys.executable, "-c", TOO_LARGE, str(tmp_path / "l")]
    done = subprocess.run(words_of, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "storage_full", done.stderr[-2000:]


def test_a_disk_that_fills_up_under_an_index(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.add_text(TRAVEL, filename="travel.txt")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("footnotes.index.manifest.write", full)
    with pytest.raises(StoreFull):
        library.add_text("Penguins swim.", filename="penguins.txt")
    assert library.search("hotels").hits, "what was there is still found"
    monkeypatch.undo()
    library.add_text("Later.", filename="later.txt")
    assert library.search("penguins swim").hits[0].filename == "penguins.txt"
    assert {document.status for document in library.documents()} == {"ready"}
    assert library.verify().ok
