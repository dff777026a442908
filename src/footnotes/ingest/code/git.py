"""Asks git about a repository without letting the repository run anything.

It only uses plumbing that reads the index and trees. Nothing compares files of the working tree, since that may call
filters from the repository's settings: files are hashed here to see whether they differ from their commit.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which

from footnotes.errors import SourceUnreadable

SECONDS = 60
HARMLESS = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.sshCommand=false",
    "core.untrackedCache=false", "core.attributesFile=/dev/null", "core.quotePath=false", "diff.external=",
    "diff.renameLimit=2000", "protocol.allow=never", "credential.helper=", "safe.directory=*",
    "safe.bareRepository=explicit", "submodule.recurse=false", "maintenance.auto=false", "gc.auto=0",
)  # fmt: skip
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "false",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the index: its mode, the hash of its content (empty if untracked), its path from the top."""

    mode: str
    blob: str
    path: str


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs between two commits; `before` is its old path if it was renamed."""

    status: str
    path: str
    before: str | None = None


class Git:
    """One repository, asked about the folder it was opened for."""

    def __init__(self, folder: Path, top: Path) -> None:
        self.folder = folder
        self.top = top
        self.commit = _text(_run(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").strip()

    @classmethod
    def open(cls, folder: Path) -> Git | None:
        """Open the repository of a folder; None if it is in none, or git is not installed."""
        if _program() is None:
            return None
        top = _run(folder, "rev-parse", "--show-toplevel")
        return cls(folder, Path(os.fsdecode(top.removesuffix(b"\n")))) if top and top.strip() else None

    def name(self) -> str:
        """Return the last part of the remote's address, else the name of the folder."""
        address = _text(_run(self.folder, "config", "--local", "--get", "remote.origin.url") or b"").strip()
        last = address.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
        return last or self.top.name

    def tracked(self) -> list[Entry]:
        """List the files in the index, below the folder that was opened. A conflict is listed once."""
        listing = _run(self.folder, "ls-files", "-z", "--stage", "--full-name")
        if listing is None:
            raise SourceUnreadable(f"git cannot list the files of {self.folder}", remedy="Check it with `git status`.")
        found: dict[str, Entry] = {}
        for line in _items(listing):
            fields, _, path = line.partition("\t")
            mode, blob, _ = fields.split(" ", 2)
            found.setdefault(path, Entry(mode, blob, path))
        return list(found.values())

    def untracked(self) -> list[Entry]:
        """List files that are neither tracked nor ignored."""
        listing = _run(self.folder, "ls-files", "-z", "--others", "--exclude-standard", "--full-name") or b""
        return [Entry("100644", "", path) for path in _items(listing) if not path.endswith("/")]

    def find_marked(self, paths: list[str]) -> dict[str, str]:
        """Find files that .gitattributes marks as generated or vendored, with the mark."""
        names = b"".join(os.fsencode(path) + b"\x00" for path in paths)
        arguments = ("check-attr", "-z", "--stdin", "linguist-generated", "linguist-vendored")
        items = _items(_run(self.top, *arguments, data=names) or b"")
        values = zip(items[::3], items[1::3], items[2::3], strict=False)
        return {path: name.removeprefix("linguist-") for path, name, value in values if value in ("set", "true")}

    def commit_blobs(self) -> dict[str, str]:
        """Return the hash of every file of the commit, by its path."""
        listing = _run(self.top, "ls-tree", "-r", "-z", "--full-tree", self.commit) if self.commit else b""
        found = {}
        for line in _items(listing or b""):
            fields, _, path = line.partition("\t")
            found[path] = fields.rsplit(" ", 1)[-1]
        return found

    def changes(self, since: str) -> list[Change] | None:
        """Return the changes since another commit; None if that commit is not in the repository."""
        if not self.commit or not _is_hash(since):
            return None
        diff = ("diff-tree", "-r", "-z", "--name-status", "--find-renames", "--no-ext-diff", "--no-textconv")
        listing = _run(self.top, *diff, "--end-of-options", since, self.commit)
        return None if listing is None else list(_changes(iter(_items(listing))))


def _changes(items: Iterator[str]) -> Iterator[Change]:
    for status in items:
        if status[:1] in ("R", "C"):
            before, path = next(items), next(items)
            yield Change(status[0], path, before if status[0] == "R" else None)
        else:
            yield Change(status[:1], next(items))


def blob_hash(content: bytes, like: str) -> str:
    """Compute git's hash of a content, by the same algorithm as the hash `like`."""
    digest = hashlib.sha256() if len(like) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\x00" % len(content))
    digest.update(content)
    return digest.hexdigest()


def is_committed(path: Path, blob: str | None) -> bool:
    """Return whether a file equals its commit, apart from line ends."""
    if not blob:
        return False
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return blob_hash(content, blob) == blob or (
        b"\r\n" in content and blob_hash(content.replace(b"\r\n", b"\n"), blob) == blob
    )


def _run(folder: Path, *arguments: str, data: bytes = b"") -> bytes | None:
    """Run git and return its output; None if it fails or takes too long."""
    settings = [each for setting in HARMLESS for each in ("-c", setting)]
    program = _program() or "git"
    try:
        done = subprocess.run(  # noqa: S603 - the program is git itself, the arguments are ours
            [program, "--no-pager", *settings, "-C", str(folder), *arguments],
            input=data,
            capture_output=True,
            timeout=SECONDS,
            env={**ENVIRONMENT, "PATH": str(Path(program).parent), "HOME": os.devnull},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@cache
def _program() -> str | None:
    return which("git")


def _items(raw: bytes) -> list[str]:
    return [os.fsdecode(item) for item in raw.split(b"\x00") if item]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _is_hash(name: str) -> bool:
    return len(name) in (40, 64) and all(char in "0123456789abcdef" for char in name)
