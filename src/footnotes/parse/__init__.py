"""Turns bytes into canonical text and blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from footnotes.types import Part, Report

PART_CHARACTERS = 200_000
"""Parsers close a part at the first good boundary after this many characters."""


@dataclass(frozen=True, slots=True)
class Source:
    """A readable file with its metadata. `path` may be a temporary copy; `filename` is its own name."""

    path: Path
    filename: str
    mime: str
    content: bytes | None = field(default=None, repr=False)
    """Return all bytes of the file, if they have been read already."""

    @property
    def readable(self) -> Path | bytes:
        return self.path if self.content is None else self.content


class Parser(Protocol):
    """Turns one kind of file into parts, then a report. One file per kind.

    Parsers are deterministic, hold no more than a few parts in memory, raise only `DocumentError`s, and never
    use the network. `isolated` parsers run native code on untrusted bytes in a worker process.

    A parser declares its files: `suffixes` maps file name suffixes to types (`{".pdf": "application/pdf"}`),
    `signatures` are pairs of the first bytes of a file and its type. Both are optional.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    mimes: ClassVar[tuple[str, ...]]
    isolated: ClassVar[bool]

    def parse(self, source: Source) -> Iterator[Part | Report]: ...
