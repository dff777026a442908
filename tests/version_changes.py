"""Searches while a library changes: each sees one version of a document, the old one or the new one.

`Changes` replaces, renames, reindexes and moves between generations; `Observer` searches at the same time and counts
forbidden results.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from footnotes.errors import FootnotesError
from footnotes.library import Library
from footnotes.types import SearchResult

QUESTION = "orchard ledger harvest"
MODES = ("hybrid", "lexical", "dense")
_SECTIONS = ("Apples", "Pears", "Plums")
_VERSION = re.compile(r"edition(\d+)")


def text_of(version: int) -> str:
    """A document of three chunks, each with its version in it."""
    body = "The orchard ledger counts the harvest of edition{version}: {name} by the crate, weighed at the gate."
    sections = [f"## {name}\n\n{body.format(version=version, name=name)}\n" for name in _SECTIONS]
    return "# Orchard\n\n" + "\n".join(sections)


@dataclass(slots=True)
class Seen:
    """The results of searches, and examples of forbidden ones."""

    searches: int = 0
    empty: int = 0
    both: int = 0
    mixed: int = 0
    degraded: int = 0
    failed: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        return self.empty + self.both + self.mixed + self.failed

    def note(self, kind: str, example: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 10:
            self.examples.append(f"{kind}: {example}")


class Observer:
    """Searches a library in some threads until stopped."""

    def __init__(self, library: Library, *, threads: int = 3, modes: tuple[str, ...] = MODES) -> None:
        self.seen = Seen()
        self._library = library
        self._modes = modes
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def __enter__(self) -> Observer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        while not self._stop.is_set():
            mode = self._modes[number % len(self._modes)]
            number += 1
            try:
                found = self._library.search(QUESTION, mode=mode, limit=20, per_document=20)
            except FootnotesError as error:
                with self._guard:
                    self.seen.searches += 1
                    self.seen.note("failed", f"{error.code}: {error.message}")
                continue
            with self._guard:
                judge(found, mode, self.seen)


def judge(found: SearchResult, mode: str, seen: Seen) -> None:
    """Count a search and its errors."""
    seen.searches += 1
    seen.degraded += found.degraded
    versions = {number for hit in found.hits for number in _VERSION.findall(hit.text)}
    names = {(hit.document_id, hit.filename, hit.total) for hit in found.hits}
    about = f"{mode} {sorted(versions)} {sorted(map(str, names))} {found.legs}"
    if not versions:
        seen.note("empty", about)
    elif len(versions) > 1:
        seen.note("both", about)
    elif len(names) > 1 or len(found.hits) < min(len(_SECTIONS), found.hits[0].total):
        seen.note("mixed", about)


class Changes:
    """Changes to the one document of a library, repeatedly: `replace`, `rename`, `reindex`, `move`."""

    def __init__(self, library: Library, folder: Path) -> None:
        self._library = library
        self._folder = folder
        self._version = 0
        self._chunkers = ["section", "window"]
        self._file = folder / "orchard-0.md"
        folder.mkdir(parents=True, exist_ok=True)
        self.replace()

    def replace(self) -> None:
        self._version += 1
        self._file.write_text(text_of(self._version), encoding="utf-8")
        self._library.sync(self._folder)

    def rename(self) -> None:
        self._file = self._file.rename(self._folder / f"orchard-{self._version}.md")
        self._library.sync(self._folder)

    def reindex(self) -> None:
        self._chunkers.reverse()
        self._library.reindex(chunker=self._chunkers[0], keep=True)

    def move(self) -> None:
        with suppress(FootnotesError):  # the first time, no generation was kept
            self._library.rollback()

    def run(self, more: Callable[[int], bool]) -> int:
        """Change one thing after another while there is more to do; how many were changed."""
        steps: list[Callable[[], object]] = [
            self.replace,
            self.replace,
            self.rename,
            self.replace,
            self.reindex,
            self.move,
        ]
        done = 0
        while more(done):
            steps[done % len(steps)]()
            done += 1
        return done
