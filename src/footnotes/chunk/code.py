"""Source code by function and class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from footnotes.chunk.options import LEAST_TOKENS, MOST_TOKENS, Bounds, check_options
from footnotes.chunk.packing import Atom, Measured, pack
from footnotes.chunk.rules import paragraph_atoms
from footnotes.chunk.segments import Segment, segments
from footnotes.types import JsonValue, Metadata, Part, Piece

SMALL_SHARE = 8
"""A chunk under an eighth of the size is small: the next definition may join it."""
_MOST_SYMBOLS = 50


class CodeChunker:
    """One chunk for a function or class; a longer one is cut between lines, and each piece says what it is in.

    The signatures that enclose a chunk are its prefix. Metadata: `language`, `symbols` and `imports`. What is
    not code is cut by the rules for paragraphs.
    """

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {"tokens": (LEAST_TOKENS, MOST_TOKENS)}

    def __init__(self, *, tokens: int = 512) -> None:
        self._options = check_options(self.name, self.bounds, {"tokens": tokens})
        self._tokens = tokens

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        measured = Measured(part.text)
        found = segments(part)
        spans = pack(
            measured, self._atoms(measured, found), limit=self._tokens, overlap=0, small=self._tokens // SMALL_SHARE
        )
        pieces: list[Piece] = []
        first = 0
        for start, end, tokens in spans:
            while found[first].end <= start:
                first += 1
            covered = _covered(found, first, end)
            prefix, metadata = _prefix(covered[0], start), _metadata(covered)
            pieces.append(Piece(part.start + start, part.start + end, prefix, metadata, tokens))
        return pieces

    def _atoms(self, measured: Measured, found: list[Segment]) -> Iterator[Atom]:
        for segment in found:
            defines = "symbols" in segment.block.attributes
            for index, atom in enumerate(paragraph_atoms(measured, [segment], self._tokens)):
                yield Atom(atom.start, atom.end, atom.opens_section or (defines and index == 0))


def _covered(found: list[Segment], first: int, end: int) -> list[Segment]:
    last = first
    while last + 1 < len(found) and found[last + 1].start < end:
        last += 1
    return found[first : last + 1]


def _prefix(segment: Segment, start: int) -> str:
    """The signatures around a chunk: of what encloses its definition, and of the definition it begins inside."""
    attributes = segment.block.attributes
    lines = [attributes.get("enclosing"), attributes.get("signature") if start > segment.start else None]
    return "\n".join(str(line) for line in lines if line)


def _metadata(covered: list[Segment]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key in ("symbols", "imports"):
        values = [each for segment in covered for each in _listed(segment.block.attributes.get(key))]
        if values:
            found[key] = [*list(dict.fromkeys(values))[:_MOST_SYMBOLS]]
    language = covered[0].block.attributes.get("language")
    if language:
        found["language"] = language
    return found


def _listed(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
