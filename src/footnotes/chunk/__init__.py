"""Cuts blocks into chunks."""

from __future__ import annotations

from typing import ClassVar, Protocol

from footnotes.types import Metadata, Part, Piece


class Chunker(Protocol):
    """Cuts a part into pieces, in order, with exact spans. One file per rule; options are keyword arguments.

    A chunker is a pure function of the part's text, its blocks and its own options. Every character that is not white
    space lies in at least one piece. `options` are the effective ones, with defaults. Together with `name` and
    `version` they make the fingerprint.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def options(self) -> Metadata: ...

    def split(self, part: Part) -> list[Piece]: ...
