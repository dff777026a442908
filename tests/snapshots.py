"""Searches while a document is replaced, renamed and indexed again: each sees one version of it, whole.

    python snapshots.py SETTINGS_JSON FOLDER SEARCHES     a reader in a process of its own; says what it saw

Every chunk of the document says which version it is of, and so do its metadata: a search that finds nothing, two
versions, a part of one, or metadata of another than its text, is counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import footnotes
from footnotes.library import Library

PARAGRAPHS = 6
OPTIONS = {"embedder": "hashing", "chunker": "rules", "chunker_options": {"tokens": 60, "overlap": 0}}
_MODES = ("hybrid", "lexical", "dense")


@dataclass(slots=True)
class Tally:
    """What searches saw. `pending` are those that said that vectors were on their way, and found nothing by them."""

    searches: int = 0
    versions: int = 0
    empty: int = 0
    both: int = 0
    mixed: int = 0
    degraded: int = 0
    pending: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def wrong(self) -> int:
        return self.empty + self.both + self.mixed


def text(version: int) -> str:
    """A document whose every paragraph is a chunk that names the version."""
    return "\n\n".join(
        f"The kestrel of version{version} in paragraph {n} "
        + " ".join(f"w{(version * 7 + n * 13 + i) % 300}" for i in range(50))
        for n in range(PARAGRAPHS)
    )


def replace(library: Library, version: int) -> None:
    library.add_text(text(version), filename="kestrel.txt", source="kestrel", metadata={"v": version})


def search(library: Library, number: int, tally: Tally, seen: set[str]) -> None:
    """One search, and what is to be said of it."""
    mode = _MODES[number % len(_MODES)]
    where = {"filename": "kestrel.txt"} if number % 2 else None
    found = library.search("kestrel paragraph", mode=mode, where=where, limit=50, per_document=50)
    tally.searches += 1
    tally.degraded += found.degraded
    hits = [hit for hit in found.hits if "kestrel" in hit.text]
    versions = Counter(word for hit in hits for word in hit.text.split() if word.startswith("version"))
    if not versions:
        waits = mode == "dense" and found.legs["dense"].status == "pending"
        tally.pending += waits
        tally.empty += not waits
    elif len(versions) > 1:
        tally.both += 1
    elif sum(versions.values()) != PARAGRAPHS or {f"version{hit.metadata.get('v')}" for hit in hits} != set(versions):
        tally.mixed += 1
    seen.update(versions)


def read(library: Library, searches: int) -> Tally:
    """So many searches, one after the other."""
    tally, seen = Tally(), set[str]()
    for number in range(searches):
        search(library, number, tally, seen)
    tally.versions = len(seen)
    return tally


def open_library(folder: Path, settings: Mapping[str, Any]) -> Library:
    return footnotes.open(folder, **{**OPTIONS, **settings})


def run(
    folder: Path,
    settings: Mapping[str, Any],
    searches: int,
    write: Callable[[Library, int], object],
    *,
    threads: int = 2,
) -> Tally:
    """Search in threads beside the writer and in a process of its own, while `write` is called without a pause."""
    with open_library(folder, settings) as library:
        for number in range(30):
            library.add_text(f"Something else {number} about gulls and paragraphs.", filename=f"g{number}.txt")
        replace(library, 0)
        other = _reader_process(folder, settings, searches)
        tallies: list[Tally] = []
        readers = [
            threading.Thread(target=lambda: tallies.append(read(library, searches // threads))) for _ in range(threads)
        ]
        for reader in readers:
            reader.start()
        step = 0
        while any(reader.is_alive() for reader in readers) or other.poll() is None:
            step += 1
            write(library, step)
        said, _ = other.communicate(timeout=60)
        assert other.returncode == 0 and len(tallies) == threads, "a reader broke off"
        return sum(tallies, Tally(**json.loads(said)))


def _reader_process(folder: Path, settings: Mapping[str, Any], searches: int) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, json.dumps(dict(settings)), str(folder), str(searches)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _refresh(library: Library, done: threading.Event) -> None:
    while not done.wait(0.05):
        library.refresh()


def main() -> None:
    """Search as a server does: a thread opens what others wrote, beside the searches."""
    done = threading.Event()
    with open_library(Path(sys.argv[2]), json.loads(sys.argv[1])) as library:
        looking = threading.Thread(target=_refresh, args=(library, done))
        looking.start()
        try:
            tally = read(library, int(sys.argv[3]))
        finally:
            done.set()
            looking.join()
    sys.stdout.write(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main()
