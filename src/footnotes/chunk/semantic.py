"""Cuts where the meaning changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from footnotes.chunk.options import Bounds, check_options
from footnotes.chunk.recursive import balanced, overlapping
from footnotes.chunk.segments import segments, sentences
from footnotes.errors import OptionError
from footnotes.types import Metadata, Part, Piece

Span = tuple[int, int]

_FEW_SENTENCES = 5
_RECURSIVE_SIZE, _RECURSIVE_OVERLAP = 1024, 128


class SemanticChunker:
    """Compares each window of sentences with the next, and cuts where they are least alike.

    All windows of a part are embedded in one call. A cut stands where the cosine is below the given percentile
    of all cosines; then groups under `minimum` characters are merged and those over `maximum` are split. A part
    of fewer than five sentences is split by characters.
    """

    name: ClassVar[str] = "semantic"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {
        "percentile": (1, 99),
        "window": (1, 20),
        "minimum": (1, 50_000),
        "maximum": (100, 100_000),
    }

    def __init__(
        self,
        *,
        embed: Callable[[Sequence[str]], Any],
        percentile: int = 25,
        window: int = 3,
        minimum: int = 200,
        maximum: int = 2048,
    ) -> None:
        given = {"percentile": percentile, "window": window, "minimum": minimum, "maximum": maximum}
        self._options = check_options(self.name, self.bounds, given)
        if minimum * 4 > maximum:
            raise OptionError(f"minimum of the chunker semantic must be at most a quarter of maximum, {maximum // 4}")
        self._embed = embed
        self._percentile, self._window, self._minimum, self._maximum = percentile, window, minimum, maximum

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        found = [span for segment in segments(part) for span in sentences(part.text, segment)]
        if len(found) < _FEW_SENTENCES:
            spans = list(overlapping(part.text, 0, len(part.text), size=_RECURSIVE_SIZE, overlap=_RECURSIVE_OVERLAP))
        else:
            spans = self._sized(part.text, self._groups(part.text, found))
        return [Piece(part.start + start, part.start + end) for start, end in spans]

    def _groups(self, text: str, found: list[Span]) -> list[Span]:
        """Runs of sentences between places where the meaning changes."""
        cosines = self._cosines(text, found)
        threshold = np.percentile(cosines, self._percentile)
        groups: list[Span] = []
        first = 0
        for index, cosine in enumerate(cosines):
            if cosine < threshold:
                groups.append((found[first][0], found[index][1]))
                first = index + 1
        groups.append((found[first][0], found[-1][1]))
        return groups

    def _cosines(self, text: str, found: list[Span]) -> Any:
        """How alike the windows before and after each boundary between two sentences are."""
        reach = self._window
        last = len(found) - 1
        windows = [text[found[at][0] : found[min(at + reach - 1, last)][1]] for at in range(len(found))]
        made = np.asarray(self._embed(windows), dtype=np.float32)
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        vectors = made / np.where(lengths > 0, lengths, 1)
        before = np.maximum(np.arange(1, len(found)) - reach, 0)
        return np.einsum("ij,ij->i", vectors[before], vectors[1:])

    def _sized(self, text: str, groups: list[Span]) -> list[Span]:
        """Groups merged until large enough, then split until small enough."""
        merged: list[Span] = []
        for start, end in groups:
            if merged and merged[-1][1] - merged[-1][0] < self._minimum:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
        if len(merged) > 1 and merged[-1][1] - merged[-1][0] < self._minimum:
            _, end = merged.pop()
            merged[-1] = (merged[-1][0], end)
        return [span for start, end in merged for span in balanced(text, start, end, maximum=self._maximum)]
