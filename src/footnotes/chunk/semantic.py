"""Cuts where the meaning changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

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
    """Compares consecutive sliding groups of sentences, and cuts between the least similar ones.

    A group has `window` sentences and starts one sentence after the previous; one call embeds all groups of a part.
    It cuts where the cosine is below the given percentile of all cosines. Then a group under `minimum` characters joins
    the one before it, the first one the next, and groups over `maximum` are split. No group spans a heading. A part of
    fewer than five sentences is split by characters.
    """

    name: ClassVar[str] = "semantic"
    version: ClassVar[int] = 2
    asks_embedder: ClassVar[bool] = True
    bounds: ClassVar[Bounds] = {
        "percentile": (1, 99),
        "window": (1, 20),
        "minimum": (1, 50_000),
        "maximum": (100, 100_000),
    }

    def __init__(
        self,
        *,
        embed: Callable[[Sequence[str]], object],
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
        sections = list(_sections(part))
        if sum(map(len, sections)) < _FEW_SENTENCES:
            spans = list(overlapping(part.text, 0, len(part.text), size=_RECURSIVE_SIZE, overlap=_RECURSIVE_OVERLAP))
        else:
            spans = [span for groups in self._groups(part.text, sections) for span in self._resize(part.text, groups)]
        return [Piece(part.start + start, part.start + end) for start, end in spans]

    def _groups(self, text: str, sections: list[list[Span]]) -> Iterator[list[Span]]:
        """Yield, for each section, the runs of sentences between changes of meaning."""
        windows = [self._windows(text, sentences_of) for sentences_of in sections]
        cosines = self._cosines(windows)
        every = [cosine for of_section in cosines for cosine in of_section]
        threshold = np.percentile(every, self._percentile) if every else 0.0
        for found, of_section in zip(sections, cosines, strict=True):
            groups: list[Span] = []
            first = 0
            for index, cosine in enumerate(of_section):
                last = index + self._window // 2  # the middle of the overlap of two neighbouring groups
                if cosine < threshold:
                    groups.append((found[first][0], found[last][1]))
                    first = last + 1
            yield [*groups, (found[first][0], found[-1][1])]

    def _windows(self, text: str, found: list[Span]) -> list[str]:
        reach = min(self._window, len(found))
        return [text[found[at][0] : found[at + reach - 1][1]] for at in range(len(found) - reach + 1)]

    def _cosines(self, windows: list[list[str]]) -> list[list[float]]:
        """Return the cosine of each group of a section with the next one."""
        together = [text for of_section in windows if len(of_section) > 1 for text in of_section]
        if not together:
            return [[] for _ in windows]
        made = np.asarray(self._embed(together), dtype=np.float32)
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        vectors = made / np.where(lengths > 0, lengths, 1)
        found: list[list[float]] = []
        at = 0
        for of_section in windows:
            size = len(of_section) if len(of_section) > 1 else 0
            own = vectors[at : at + size]
            found.append(np.einsum("ij,ij->i", own[:-1], own[1:]).tolist() if size else [])
            at += size
        return found

    def _resize(self, text: str, groups: list[Span]) -> list[Span]:
        """Merge groups until large enough, then split them until small enough."""
        merged: list[Span] = []
        for start, end in groups:
            small = merged and min(end - start, merged[-1][1] - merged[-1][0]) < self._minimum
            if small:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
        return [span for start, end in merged for span in balanced(text, start, end, maximum=self._maximum)]


def _sections(part: Part) -> Iterator[list[Span]]:
    """Yield the sentences of every section. Consecutive headings open one section together."""
    found: list[Span] = []
    after_heading = False
    for segment in segments(part):
        if segment.kind == "heading" and not after_heading and found:
            yield found
            found = []
        found += sentences(part.text, segment)
        after_heading = segment.kind == "heading"
    if found:
        yield found
