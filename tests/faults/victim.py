"""A process to be killed: adds, replaces, deletes and reindexes, and says what was acknowledged.

    python victim.py FOLDER ROUNDS SEED [KILL_AT]

Each line on standard output is an acknowledgement: `+ name id` or `- name`, `g` for a reindex. With KILL_AT the
process kills itself at that call of the functions that write, counted over the whole run.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import footnotes
from footnotes.index import dense_files, manifest
from footnotes.index.dense import DenseIndex
from footnotes.index.lexical import LexicalIndex
from footnotes.store.documents import Documents
from footnotes.store.generations import Generations
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.store import SqliteStore
from footnotes.store.vectors import Vectors

WRITERS: list[tuple[Any, str]] = [
    (SqliteStore, "save_drafts"),
    (SqliteStore, "save_vectors"),
    (Vectors, "finish"),
    (SqliteStore, "publish"),
    (Documents, "delete"),
    (Database, "checkpoint"),
    (SqliteStore, "fill_generation"),
    (Generations, "switch"),
    (LexicalIndex, "apply"),
    (DenseIndex, "apply"),
    (manifest, "write"),
    (dense_files, "write_contents"),
]
calls = 0


def arm(kill_at: int) -> None:
    """Count entries into and exits from every function that writes; die at the one chosen."""

    def counted() -> None:
        global calls
        calls += 1
        if calls == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            counted()
            result = original(*args, **kwargs)
            counted()
            return result

        return call

    for owner, name in WRITERS:
        setattr(owner, name, wrapped(getattr(owner, name)))


def text(name: str, version: int) -> str:
    rng = random.Random(f"{name}-{version}")
    paragraphs = [" ".join(f"w{rng.randint(0, 400)}" for _ in range(70)) for _ in range(rng.randint(1, 6))]
    return f"{name} marker{name}v{version}\n\n" + "\n\n".join(paragraphs)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        arm(int(sys.argv[4]))
    rng = random.Random(seed)
    options = {"tokens": 100, "overlap": 10}
    with footnotes.open(folder, embedder="hashing", chunker="rules", chunker_options=options) as library:
        ids: dict[str, str] = {d.source: d.id for d in library.documents() if d.status == "ready"}
        for step in range(rounds):
            name = f"n{rng.randint(0, 8)}"
            action = rng.choice(["add", "add", "add", "delete", "reindex"])
            if action == "add":
                version = rng.randint(0, 99)
                say(f"? {name} {version}")
                added = library.add_text(text(name, version), filename=f"{name}.txt", source=name)
                ids[name] = str(added.document_id)
                say(f"+ {name} {version}")
            elif action == "delete" and name in ids:
                say(f"? {name} gone")
                library.delete(ids.pop(name))
                say(f"- {name}")
            elif action == "reindex" and ids and step % 3 == 0:
                library.reindex()
                say("g")
    say(f"done {calls}")


if __name__ == "__main__":
    main()
