"""Merges or splits paragraphs to a size in tokens: the default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from footnotes.chunk.options import LEAST_TOKENS, MOST_TOKENS, Bounds, check_options, check_overlap
from footnotes.chunk.packing import Atom, Measured, pack
from footnotes.chunk.segments import Segment, segments, sentences
from footnotes.types import Metadata, Part, Piece

SMALL_SHARE = 4
"""A chunk under a quarter of the size is small: the next section may join it."""


class RulesChunker:
    """Packs whole paragraphs; one that is too long is cut between sentences, then between words.

    A heading stays with the text that follows it, and begins a chunk unless the one before is small.
    """

    name: ClassVar[str] = "rules"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {"tokens": (LEAST_TOKENS, MOST_TOKENS), "overlap": (0, MOST_TOKENS)}

    def __init__(self, *, tokens: int = 512, overlap: int = 50) -> None:
        self._options = check_options(self.name, self.bounds, {"tokens": tokens, "overlap": overlap})
        check_overlap(self.name, tokens, overlap)
        self._tokens, self._overlap = tokens, overlap

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        measured = Measured(part.text)
        atoms = paragraph_atoms(measured, segments(part), self._tokens)
        spans = pack(measured, atoms, limit=self._tokens, overlap=self._overlap, small=self._tokens // SMALL_SHARE)
        return [Piece(part.start + start, part.start + end, tokens=tokens) for start, end, tokens in spans]


def paragraph_atoms(measured: Measured, parts: list[Segment], limit: int) -> Iterator[Atom]:
    """Yield paragraphs as atoms, with the headings above them; longer ones as sentences, or pieces of sentences."""
    heading = -1
    for segment in parts:
        if segment.kind == "heading":
            heading = segment.start if heading < 0 else heading
            if not measured.exceeds(heading, segment.end, limit // 2):
                continue
        opens = heading >= 0
        start = heading if opens else segment.start
        heading = -1
        if measured.exceeds(start, segment.end, limit):
            yield from _sentence_atoms(measured, segment, start, limit)
        else:
            yield Atom(start, segment.end, opens)
    if heading >= 0:
        yield Atom(heading, parts[-1].end, True)


def _sentence_atoms(measured: Measured, segment: Segment, start: int, limit: int) -> Iterator[Atom]:
    """Yield the sentences of a segment too long to keep whole. Headings before it join its first piece."""
    opens = start < segment.start or segment.kind == "heading"
    for first, last in sentences(measured.text, segment):
        begin = start if opens else first
        if measured.exceeds(begin, last, limit):
            for index, (low, high, _) in enumerate(measured.words(begin, last, limit)):
                yield Atom(low, high, opens and index == 0)
        else:
            yield Atom(begin, last, opens)
        opens = False
