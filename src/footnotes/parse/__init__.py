"""bytes → canonical text and blocks."""

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
    """A readable file and what is known of it. `path` may be a temporary copy; `filename` is its own name."""

    path: Path
    filename: str
    mime: str
    content: bytes | None = field(default=None, repr=False)
    """All its bytes, where whoever looked at the file has read them already."""

    @property
    def readable(self) -> Path | bytes:
        return self.path if self.content is None else self.content


class Parser(Protocol):
    """Turns one kind of file into parts, then a report. One file per kind.

    Parsers are deterministic, hold no more than a few parts in memory, raise only `DocumentError`s, and never
    reach for a network. `isolated` parsers run native code on untrusted bytes and are run in a worker process.

    Files of its types are found by what it declares: `suffixes` maps ends of names to types (`{".pdf":
    "application/pdf"}`), `signatures` are pairs of the bytes a file begins with and its type. Both may be left out.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    mimes: ClassVar[tuple[str, ...]]
    isolated: ClassVar[bool]

    def parse(self, source: Source) -> Iterator[Part | Report]: ...
