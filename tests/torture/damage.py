"""One file of a library is damaged, swapped, removed or foreign: noticed or mended, never a crash, never wrong text."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from footnotes.errors import FootnotesError, StoreError
from footnotes.store.sqlite import DATABASE
from libraries import quick_library, words
from torture import Budget, Row
from torture.judge import SECONDS, environment

DOCUMENTS, LATE = 220, 6  # as many as a graph needs, and those that are only in the write-ahead log
WORDS = 130


def truncate(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(max(len(content), 1))]


def zero_page(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(len(content) // 4096, 1)) * 4096
    return content[:at] + bytes(min(4096, len(content) - at)) + content[at + 4096 :]


def flip_bits(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 8)) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def rubbish(content: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(len(content))


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (truncate, zero_page, flip_bits, rubbish)


def damage(name: str, *, budget: Budget, seed: int) -> Row:
    """Damage one file of a copy of a library and use the copy in a process of its own, as often as the budget says."""
    row, chance = Row(name), random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        pristine, foreign, copy = (Path(place) / part for part in ("pristine", "foreign", "copy"))
        build(pristine, first=0, late=LATE)
        build(foreign, first=10_000, late=LATE)
        for _ in budget.rounds():
            shutil.copytree(pristine, copy)
            file = chance.choice(files_of(copy))
            case = harm(copy, file, foreign, chance)
            row.trials += 1
            for kind, what in examine(copy, is_truth=file.name.startswith(DATABASE)):
                row.note(kind, f"{case}: {what}")
            shutil.rmtree(copy)
    return row


def build(folder: Path, *, first: int, late: int) -> None:
    """A library with a graph and several segments whose last writer was killed, in a process of its own."""
    made = [sys.executable, "-m", "torture.damage", str(folder), str(first), str(late)]
    ended = subprocess.run(made, env=environment(), check=False)
    assert ended.returncode == -signal.SIGKILL, f"the library was not made: {ended.returncode}"
    assert (folder / f"{DATABASE}-wal").stat().st_size, "there must be a log to damage"


def _build(folder: Path, first: int, late: int) -> None:
    with quick_library(folder, chunker="window", chunker_options={"size": 100, "overlap": 20}) as library:
        with tempfile.TemporaryDirectory() as texts:
            for number in range(first, first + DOCUMENTS):
                (Path(texts) / f"{number}.txt").write_text(words(number, WORDS))
            library.add(texts)
        library.settle()
        library._store.database.checkpoint()
        for number in range(first + DOCUMENTS, first + DOCUMENTS + late):
            library.add_text(words(number, WORDS), filename=f"{number}.txt")
        os.kill(os.getpid(), signal.SIGKILL)


def files_of(folder: Path) -> list[Path]:
    """Database, log and index files: the database as often as a kind of index file, for there are many of those."""
    index = [path for path in sorted((folder / "index").rglob("*")) if path.is_file() and path.suffix != ".lock"]
    truth = sorted(folder.glob(f"{DATABASE}*"))
    return [*index, *truth * max(len(index) // 6, 1)]


def harm(folder: Path, file: Path, foreign: Path, chance: random.Random) -> str:
    """Do one kind of damage; say which."""
    kind = chance.choice(("change", "change", "change", "swap", "remove", "foreign"))
    alike = [path for path in files_of(folder) if path.suffix == file.suffix and path != file]
    if kind == "swap" and alike:
        other = chance.choice(alike)
        first, second = file.read_bytes(), other.read_bytes()
        file.write_bytes(second)
        other.write_bytes(first)
        return f"{file.name} swapped with {other.name}"
    if kind == "remove":
        file.unlink()
        return f"{file.name} removed"
    if kind == "foreign":
        theirs = [path for path in files_of(foreign) if path.suffix == file.suffix]
        file.write_bytes(chance.choice(theirs).read_bytes() if theirs else b"something else")
        return f"{file.name} of another library"
    change = chance.choice(CHANGES)
    file.write_bytes(change(file.read_bytes(), chance))
    return f"{file.name}: {change.__name__}"


def examine(folder: Path, *, is_truth: bool, use: Callable[..., None] | None = None) -> list[tuple[str, str]]:
    """Use a library in a process of its own; kinds and cases of what is not as it must be."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torture.damage"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_examine, args=(folder, is_truth, theirs, use or _use), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(SECONDS):
            process.kill()
            return [("stuck", f"not done after {SECONDS:.0f} s")]
        found: list[tuple[str, str]] = ours.recv()
        return found
    except EOFError:
        process.join()
        return [("crashed", f"the process ended with {process.exitcode}")]
    finally:
        process.join()
        ours.close()


def die(*_: object) -> None:
    """The control: a native library that aborts."""
    os.abort()


def _examine(folder: Path, is_truth: bool, told: Connection, use: Callable[..., None]) -> None:
    found: list[tuple[str, str]] = []
    try:
        use(folder, is_truth, found)
    except FootnotesError as error:
        if not (is_truth and (isinstance(error, StoreError) or "store_corrupt" in error.message)):
            found.append(("wrong", f"{error.code} {error.message[:150]}"))
    except Exception as error:
        found.append(("crashed", f"{error!r:.200}"))
    told.send(found)


def _use(folder: Path, is_truth: bool, found: list[tuple[str, str]]) -> None:
    with quick_library(folder) as library:
        _embed_queries_only(library.embedder())
        documents = {document.filename: document for document in library.documents()}
        for name, document in documents.items():
            if library.text(document.id).strip() != words(int(name[:-4]), WORDS):
                found.append(("wrong", f"the text of {name}"))
        for number in (0, 17, DOCUMENTS - 1, DOCUMENTS, DOCUMENTS + LATE - 1):
            hits = library.search(f"marker{number}", mode="lexical").hits
            if f"{number}.txt" in documents and not (hits and hits[0].filename == f"{number}.txt"):
                found.append(("wrong", f"{number}.txt is listed but not found"))
            if library.search(f"marker{number}").degraded and not is_truth:
                found.append(("wrong", f"a search for {number}.txt is degraded"))
        if not library.search("marker3 word5", mode="dense").hits:
            found.append(("wrong", "nothing is found by meaning"))
        is_noticed = not library.verify().ok
    if len(documents) != DOCUMENTS + LATE and not is_noticed:
        found.append(("lost", f"{DOCUMENTS + LATE - len(documents)} documents, in silence"))
    if is_noticed and not is_truth:
        found.append(("wrong", "the indexes were not rebuilt"))


def _embed_queries_only(embedder: Any) -> None:
    original = embedder.embed

    def embed(texts: Any, *, role: str) -> Any:
        assert role == "query", "a rebuild must not embed"
        return original(texts, role=role)

    embedder.embed = embed


if __name__ == "__main__":
    _build(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
