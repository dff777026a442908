"""A document that was deleted does not come back with the work that had brought it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from libraries import quick_library
from postgres import PostgresServer

_DIE = """
import json, os, signal, sys, footnotes
from footnotes.ingest.pipeline import Pipeline
original = Pipeline._complete
def die(self, generation):
    if self._waiting:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, generation)
Pipeline._complete = die
with footnotes.open(sys.argv[1], embedder="hashing", **json.loads(sys.argv[3])) as library:
    library.add(sys.argv[2])
"""


@pytest.fixture(params=["folder", "postgres"])
def settings(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        yield {"store": server.fresh()}
    else:
        yield {}


def cut_off(folder: Path, path: Path, settings: dict[str, Any]) -> None:
    """Add a path in a process that is killed when all texts are in and no vector is."""
    died = subprocess.run(
        [sys.executable, "-c", _DIE, str(folder), str(path), json.dumps(settings)], check=False, timeout=120
    )
    assert died.returncode == -9


def names(library: Library) -> list[str]:
    return sorted(document.filename for document in library.documents())


def test_after_a_killed_add(tmp_path: Path, settings: dict[str, Any]) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for name in ("auk", "kittiwake", "tern"):
        (files / f"{name}.txt").write_text(f"The {name} breeds on cliffs.")
    cut_off(tmp_path / "library", files, settings)
    with quick_library(tmp_path / "library", **settings) as library:
        assert names(library) == ["auk.txt", "kittiwake.txt", "tern.txt"]
        library.delete(next(d.id for d in library.documents() if d.filename == "tern.txt"))
        assert not any("tern" in str(job) for job in library.jobs() if job.run), "its name stays nowhere"
        library.resume()
        assert names(library) == ["auk.txt", "kittiwake.txt"]
        assert not library.search("tern", mode="lexical").hits
        library.add(files)  # whoever asks for it again gets it
        assert names(library) == ["auk.txt", "kittiwake.txt", "tern.txt"]


def test_a_member_of_an_archive(tmp_path: Path, settings: dict[str, Any]) -> None:
    archive = tmp_path / "birds.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("auk", "kittiwake", "tern"):
            file.writestr(f"{name}.txt", f"The {name} breeds on cliffs.")
    cut_off(tmp_path / "library", archive, settings)
    with quick_library(tmp_path / "library", **settings) as library:
        library.delete(next(d.id for d in library.documents() if d.filename == "tern.txt"))
        library.resume()
        assert names(library) == ["auk.txt", "kittiwake.txt"]
