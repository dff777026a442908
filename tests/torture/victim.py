"""A process to be killed, cut off or starved: it does one kind of work and says what was acknowledged.

    python -m torture.victim FOLDER ACTION SEED [--rounds N] [--unsynced] [--descriptors N] [--documents FOLDER]
                                                [--setting NAME=VALUE …]

Lines on standard output are those that `oracle.Oracle` reads: `? name state` before a step, `+ name version` or
`- name` once it is acknowledged. `! code` says that a step was refused with an error of the product.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from footnotes.errors import FootnotesError
from footnotes.library import Library
from libraries import quick_library

ACTIONS = ("add", "delete", "reindex", "compact", "sync", "server")
NAMES = 9


def text(name: str, version: int) -> str:
    """A text of its own for each name and version, whose second word says which."""
    chance = random.Random(f"{name}-{version}")
    paragraphs = [" ".join(f"w{chance.randint(0, 400)}" for _ in range(70)) for _ in range(chance.randint(1, 5))]
    return f"{name} marker{name}v{version}\n\n" + "\n\n".join(paragraphs)


def version_of(content: str) -> str:
    return content.split()[1].partition("v")[2]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Victim:
    """The kinds of work on one library. The same seed takes the same steps."""

    def __init__(self, library: Library, documents: Path, seed: int) -> None:
        self._library = library
        self._documents = documents
        self._chance = random.Random(seed)
        self._version = seed * 1_000

    def steps(self, action: str) -> Callable[[], None]:
        """What one round of an action does; reindex and compact are done among additions and deletions."""
        steps = {"add": self.add, "delete": self.delete, "reindex": self.reindex, "compact": self.compact}
        if action == "sync":
            return self.sync
        return lambda: self._chance.choices((steps[action], self.add, self.delete), (5, 2, 1))[0]()

    def add(self) -> None:
        self._version += 1
        name = f"n{self._chance.randrange(NAMES)}"
        say(f"? {name} {self._version}")
        self._library.add_text(text(name, self._version), filename=f"{name}.txt", source=name)
        say(f"+ {name} {self._version}")

    def delete(self) -> None:
        kept = {d.source: d.id for d in self._library.documents() if not d.source.startswith("/")}
        if not kept:
            return self.add()
        name = self._chance.choice(sorted(kept))
        say(f"? {name} gone")
        self._library.delete(kept[name])
        say(f"- {name}")
        return None

    def reindex(self) -> None:
        self._library.reindex()

    def compact(self) -> None:
        self._library.compact()

    def sync(self) -> None:
        """Change a folder of files and take it in. All that the folder says is begun, also by an earlier life."""
        folder = self._documents
        folder.mkdir(exist_ok=True)
        self._change(folder)
        there = {str(path): version_of(path.read_text()) for path in sorted(folder.glob("*.txt"))}
        held = {d.source: version_of(self._library.text(d.id, 0, 60)) for d in self._library.documents()}
        gone = [path for path in held if path.startswith("/") and path not in there]
        # A file that was renamed takes its document along; what has its old name now may come later.
        moved = [path for path in there if path in held and held[path] in {**there, path: ""}.values()]
        for path in (*gone, *moved):
            say(f"? {path} gone")
        for path, version in there.items():
            say(f"? {path} {version}")
        self._library.sync(folder)
        for path, version in there.items():
            say(f"+ {path} {version}")
        for path in gone:
            say(f"- {path}")

    def _change(self, folder: Path) -> None:
        files = sorted(folder.glob("*.txt"))
        for path in self._chance.sample(files, min(len(files), 3)):
            action = self._chance.choice(("rename", "edit", "delete"))
            if action == "delete":
                path.unlink()
            elif action == "rename":
                self._version += 1
                path.rename(folder / f"r{self._version}.txt")
            else:
                self._write(path)
        for _ in range(3):
            self._write(folder / f"n{self._chance.randrange(NAMES)}.txt")

    def _write(self, path: Path) -> None:
        self._version += 1
        path.write_text(text(path.stem, self._version))


def serve(folder: Path, seed: int, rounds: int) -> None:
    """Upload to a server in this process; what it accepts is acknowledged."""
    from serving import serving

    chance, version = random.Random(seed), seed * 1_000
    with serving(folder, serve_rate=10**6, serve_burst=10**6) as running:
        for _ in range(rounds):
            version += 1
            name = f"n{chance.randrange(NAMES)}"
            say(f"? {name} {version}")
            body = {"text": text(name, version), "filename": f"{name}.txt", "source": name}
            answer = running.client.post("/v1/documents", json=body)
            say(f"+ {name} {version}" if answer.status_code == 202 else f"! {answer.status_code}")


def leave_descriptors(count: int) -> None:
    """So many files can be opened from here on: the limit is of numbers, and those in between are taken."""
    most = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + count + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    taken: list[int] = []
    with suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    for file in taken[:count]:
        os.close(file)


def work(library: Library, chosen: argparse.Namespace) -> None:
    victim = Victim(library, chosen.documents or chosen.folder.with_name("documents"), chosen.seed)
    if chosen.descriptors is not None:  # what is imported late is imported now
        for step in (victim.add, victim.add, victim.delete, victim.reindex, victim.compact):
            step()
        leave_descriptors(chosen.descriptors)
    step = victim.steps(chosen.action)
    for _ in range(chosen.rounds):
        try:
            step()
        except FootnotesError as error:
            say(f"! {error.code}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("action", choices=ACTIONS)
    options.add_argument("seed", type=int)
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--unsynced", action="store_true", help="the control: SQLite does not sync")
    options.add_argument("--descriptors", type=int, help="how many files may be opened")
    options.add_argument("--documents", type=Path, help="the folder that is synced, otherwise beside the library")
    options.add_argument("--setting", action="append", default=[], help="a setting of the library, NAME=VALUE")
    chosen = options.parse_args()
    if chosen.action == "server":
        return serve(chosen.folder, chosen.seed, chosen.rounds)
    try:
        given = dict(word.split("=", 1) for word in chosen.setting)
        chunking = {"chunker": "rules", "chunker_options": {"tokens": 100, "overlap": 10}}
        with quick_library(chosen.folder, **chunking, **given) as library:
            if chosen.unsynced:
                library._store.database.writer.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]
            work(library, chosen)
    except FootnotesError as error:
        say(f"! {error.code}")
    say("done")
    return None


if __name__ == "__main__":
    main()
