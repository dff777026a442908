"""A crash in the middle of a sync loses nothing: killed at any step, the next pass ends where one pass would have."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from footnotes.library import Library
from libraries import quick_library, words

VICTIM = """
import os, signal, sys, footnotes
from footnotes.index.dense import DenseIndex
from footnotes.index.lexical import LexicalIndex
from footnotes.store.sources import Sources
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.store import SqliteStore
left = int(sys.argv[3])
def counted():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
def wrapped(original):
    def call(*args, **kwargs):
        counted()
        result = original(*args, **kwargs)
        counted()
        return result
    return call
writers = [(Sources, "note"), (Sources, "move"), (Sources, "forget"), (SqliteStore, "save_drafts"),
           (SqliteStore, "save_vectors"), (SqliteStore, "publish"), (Database, "checkpoint"),
           (LexicalIndex, "apply"), (DenseIndex, "apply")]
for owner, name in writers:
    setattr(owner, name, wrapped(getattr(owner, name)))
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    library.sync(sys.argv[2])
print("done")
"""


def shuffle(folder: Path, rng: random.Random, step: int) -> None:
    """Renames, edits, copies, deletes and adds files."""
    files = sorted(folder.glob("*.txt"))
    for file in rng.sample(files, min(len(files), 6)):
        action = rng.choice(["rename", "edit", "delete", "copy"])
        if action == "rename":
            file.rename(folder / f"renamed{step}-{rng.randint(0, 10**6)}.txt")
        elif action == "edit":
            file.write_text(file.read_text() + f"\n\n{words(rng.randint(0, 10**6))}")
        elif action == "delete":
            file.unlink()
        else:
            (folder / f"copy{step}-{rng.randint(0, 10**6)}.txt").write_bytes(file.read_bytes())
    for number in range(4):
        (folder / f"new{step}-{number}.txt").write_text(words(step * 100 + number, 200))


def check(library: Library, folder: Path) -> None:
    """The library is what the folder is, and nothing else."""
    assert library.verify().ok
    found = library.documents()
    assert {document.status for document in found} <= {"ready"}
    texts = {file.read_text() for file in folder.glob("*.txt")}
    assert {library.text(document.id) for document in found} == texts
    assert len(found) == len(texts)
    assert {Path(document.source).read_text() for document in found} == texts


def test_killed_at_any_step_of_a_sync(tmp_path: Path) -> None:
    folder, store, rng = tmp_path / "documents", tmp_path / "library", random.Random(7)
    folder.mkdir()
    finished = 0
    for step in range(9):
        shuffle(folder, rng, step)
        kill_at = rng.randint(1, 24)
        arguments = [sys.executable, "-c", VICTIM, str(store), str(folder), str(kill_at)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode in (0, -9), done.stderr
        finished += done.returncode == 0
        with quick_library(store) as library:
            assert library.verify().ok, "before the next pass, too"
            library.sync(folder)
            check(library, folder)
    assert finished < 9, "some were killed"
