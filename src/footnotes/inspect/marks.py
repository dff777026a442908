"""Splits a text into runs, each with its block and its chunks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from footnotes.inspect.examine import Inspection
from footnotes.types import Block


class Mark(NamedTuple):
    """A run of text in the same chunks, by their numbers; `begins` are the chunks that begin with it."""

    start: int
    end: int
    chunks: tuple[int, ...]
    begins: tuple[int, ...]


def page_starts(found: Inspection) -> dict[int, int]:
    """The offset of the first block of each page."""
    starts: dict[int, int] = {}
    for block in found.blocks:
        if block.page is not None:
            starts.setdefault(block.page, block.start)
    return starts


def marks(found: Inspection) -> Iterator[tuple[Block, list[Mark]]]:
    """Yield every block with its runs, in order. Text outside of blocks comes as a paragraph if it is not blank."""
    cutter = _Cutter(found)
    position, text = 0, found.text
    for block in found.blocks:
        if block.start > position and text[position : block.start].strip():
            yield _unclaimed(position, block.start, block), cutter.runs(position, block.start)
        if block.end > block.start:
            yield block, cutter.runs(block.start, block.end)
        position = max(position, block.end)
    if text[position:].strip():
        yield _unclaimed(position, len(text), None), cutter.runs(position, len(text))


def _unclaimed(start: int, end: int, before: Block | None) -> Block:
    return Block("paragraph", start, end, before.page if before else None)


class _Cutter:
    """Finds the chunks of a span. Chunks may overlap; they are in order of their starts and of their ends."""

    def __init__(self, found: Inspection) -> None:
        self._starts = [made.start for made in found.chunks]
        self._ends = [made.end for made in found.chunks]
        self._begun: set[int] = set()

    def runs(self, start: int, end: int) -> list[Mark]:
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        inside = range(first, last)
        cuts = {start, end}
        cuts.update(at for n in inside for at in (self._starts[n], self._ends[n]) if start < at < end)
        edges = sorted(cuts)
        return [self._mark(low, high, inside) for low, high in pairwise(edges)]

    def _mark(self, low: int, high: int, inside: range) -> Mark:
        there = tuple(n for n in inside if self._starts[n] < high and self._ends[n] > low)
        fresh = tuple(n for n in there if n not in self._begun)
        self._begun.update(fresh)
        return Mark(low, high, there, fresh)
