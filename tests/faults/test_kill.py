"""Promise A and D: after SIGKILL at any point every acknowledged document is found, and no other is half visible."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from libraries import quick_library
from oracle import Oracle

VICTIM = Path(__file__).with_name("victim.py")


def run(folder: Path, *, rounds: int, seed: int, kill_at: int | None = None, kill_after: float | None = None) -> str:
    arguments = [sys.executable, str(VICTIM), str(folder), str(rounds), str(seed)]
    if kill_at is not None:
        arguments.append(str(kill_at))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    output, _ = process.communicate(timeout=120)
    return output


def test_killed_at_every_step_of_writing(tmp_path: Path) -> None:
    folder, oracle = tmp_path / "library", Oracle()
    rng = random.Random(1)
    for life in range(10):
        oracle.read(run(folder, rounds=30, seed=life, kill_at=rng.randint(2, 120)))
        with quick_library(folder) as library:
            oracle.check(library)
            if life % 2:
                oracle.check_resumed(library)


def test_killed_at_any_time(tmp_path: Path) -> None:
    folder, oracle = tmp_path / "library", Oracle()
    rng = random.Random(2)
    for life in range(4):
        oracle.read(run(folder, rounds=500, seed=100 + life, kill_after=0.9 + rng.random()))
        with quick_library(folder) as library:
            oracle.check(library)
            oracle.check_resumed(library)


def test_the_oracle_notices_a_lost_document(tmp_path: Path) -> None:
    """The positive control: were an acknowledged document lost, this is how it would show."""
    folder, oracle = tmp_path / "library", Oracle()
    oracle.read(run(folder, rounds=8, seed=3))
    with quick_library(folder) as library:
        library.delete(library.documents()[0].id)
        with pytest.raises(AssertionError, match="acknowledged was"):
            oracle.check(library)


def test_nothing_embedded_is_embedded_again_after_a_kill(tmp_path: Path) -> None:
    code = """
import os, signal, sys, footnotes
from footnotes.store.vectors import Vectors
def die(self, *args):
    os.kill(os.getpid(), signal.SIGKILL)
Vectors.finish = die
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    library.add(sys.argv[2])
"""
    document = tmp_path / "long.txt"
    document.write_text("\n\n".join(f"Paragraph {n} " + f"word{n} " * 300 for n in range(20)))
    folder = tmp_path / "library"
    died = subprocess.run([sys.executable, "-c", code, str(folder), str(document)], check=False)
    assert died.returncode == -9
    with quick_library(folder) as library:
        found = library.search("paragraph")
        assert found.hits and found.degraded and found.legs["dense"].status == "pending"
        assert [job.stage for job in library.jobs()] == ["queued", "queued"]
        embedder = type(library.embedder())
        original = embedder.embed
        embedder.embed = lambda *_, **__: pytest.fail("embedded again")  # type: ignore[method-assign, assignment]
        try:
            assert [added.status for added in library.resume()] == ["ready"]
        finally:
            embedder.embed = original  # type: ignore[method-assign]
        assert library.documents()[0].status == "ready"
        found = library.search("paragraph")
        assert found.hits and not found.degraded and found.hits[0].scores.dense is not None


def test_a_reindex_of_nothing_that_was_cut_off_does_not_stop_resume(tmp_path: Path) -> None:
    code = """
import os, signal, sys, footnotes
from footnotes.ingest.reindex import Reindex
def die(self, **_):
    os.kill(os.getpid(), signal.SIGKILL)
Reindex.run = die
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    library.reindex()
"""
    folder = tmp_path / "library"
    died = subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert died.returncode == -9
    with quick_library(folder) as library:
        assert [job.stage for job in library.jobs()] == ["queued"]
        assert library.resume() == []
        assert [(job.stage, job.error and job.error.code) for job in library.jobs()] == [("failed", "not_found")]
        assert library.add_text("Storks winter in Africa.", filename="a.txt").status == "ready"


def test_a_document_that_waits_though_it_has_its_vectors_is_no_problem_of_an_index(tmp_path: Path) -> None:
    code = """
import os, signal, sys, footnotes
from footnotes.store.vectors import Vectors
def die(self, *args):
    os.kill(os.getpid(), signal.SIGKILL)
Vectors.finish = die
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    library.add_text("Storks winter in Africa.", filename="a.txt")
"""
    folder = tmp_path / "library"
    assert subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode == -9
    with quick_library(folder) as library:
        assert [document.status for document in library.documents()] == ["queued"]
        library.compact()  # both indexes are made again: the dense one takes in what has vectors
        assert library.verify().problems == []
        library.resume()
        assert [document.status for document in library.documents()] == ["ready"]
        assert library.verify().problems == []
