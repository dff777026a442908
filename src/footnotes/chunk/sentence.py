"""Packs whole sentences up to a size in tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from footnotes.chunk.options import LEAST_TOKENS, MOST_TOKENS, Bounds, check_options, check_overlap
from footnotes.chunk.packing import Fitted, Measured
from footnotes.chunk.segments import segments, sentences
from footnotes.types import Metadata, Part, Piece


class SentenceChunker:
    """Packs whole sentences, across paragraphs; the overlap consists of whole sentences too.

    A sentence longer than the size is cut between words.
    """

    name: ClassVar[str] = "sentence"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {"tokens": (LEAST_TOKENS, MOST_TOKENS), "overlap": (0, MOST_TOKENS)}

    def __init__(self, *, tokens: int = 512, overlap: int = 128) -> None:
        self._options = check_options(self.name, self.bounds, {"tokens": tokens, "overlap": overlap})
        check_overlap(self.name, tokens, overlap)
        self._tokens, self._overlap = tokens, overlap

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        measured = Measured(part.text)
        found = [span for segment in segments(part) for span in sentences(part.text, segment)]
        units = [piece for start, end in found for piece in self._fit(measured, start, end)]
        return [
            Piece(part.start + start, part.start + end, tokens=tokens)
            for start, end, tokens in self._pack(measured, units)
        ]

    def _fit(self, measured: Measured, start: int, end: int) -> Iterator[tuple[int, int]]:
        if measured.exceeds(start, end, self._tokens):
            yield from ((low, high) for low, high, _ in measured.words(start, end, self._tokens))
        else:
            yield start, end

    def _pack(self, measured: Measured, units: list[tuple[int, int]]) -> Iterator[Fitted]:
        first = 0
        for index, (_, end) in enumerate(units):
            if index > first and measured.exceeds(units[first][0], end, self._tokens):
                pieces = measured.fitted(units[first][0], units[index - 1][1], self._tokens)
                yield from pieces
                first = self._overlap_start(measured, units, pieces[-1].start, index)
        if units:
            yield from measured.fitted(units[first][0], units[-1][1], self._tokens)

    def _overlap_start(self, measured: Measured, units: list[tuple[int, int]], last: int, index: int) -> int:
        """Return the first sentence of the next chunk: as many before `index` as the overlap and the size allow.

        It is after `last`, the first sentence of the chunk before.
        """
        begin = index
        while units[begin - 1][0] > last:
            start = units[begin - 1][0]
            if measured.exceeds(start, units[index - 1][1], self._overlap):
                break
            if measured.exceeds(start, units[index][1], self._tokens):
                break
            begin -= 1
        return begin
