"""Splits a part into segments that cover all of its text.

All offsets here are relative to the part's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from footnotes.text.sentences import sentence_spans
from footnotes.types import Block, BlockKind, Part

_PARAGRAPH = Block("paragraph", 0, 0)


class Segment(NamedTuple):
    """A block, or the text between two blocks, without the white space around it."""

    start: int
    end: int
    block: Block

    @property
    def kind(self) -> BlockKind:
        return self.block.kind


def segments(part: Part) -> list[Segment]:
    """Return the part's blocks in order. Text outside every block becomes a paragraph of its own."""
    found: list[Segment] = []
    edge = 0
    for block in part.blocks:
        start, end = max(block.start - part.start, edge), min(block.end - part.start, len(part.text))
        if end <= start:
            continue
        found.extend(_trim(part.text, edge, start, _PARAGRAPH))
        found.extend(_trim(part.text, start, end, block))
        edge = end
    found.extend(_trim(part.text, edge, len(part.text), _PARAGRAPH))
    return found


def _trim(text: str, start: int, end: int, block: Block) -> Iterator[Segment]:
    if start < end:
        piece = text[start:end]
        bare = piece.strip()
        if bare:
            first = start + len(piece) - len(piece.lstrip())
            yield Segment(first, first + len(bare), block)


def sentences(text: str, segment: Segment) -> list[tuple[int, int]]:
    """Return the sentences of a segment, or lines for code, tables and lists, which are not prose."""
    if segment.kind == "heading":
        return [(segment.start, segment.end)]
    if segment.kind in ("code", "table", "list"):
        return lines(text, segment.start, segment.end)
    piece = text[segment.start : segment.end]
    return [(segment.start + start, segment.start + end) for start, end in sentence_spans(piece)]


def lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the lines between two offsets that are not blank, without the white space around them."""
    found = []
    position = start
    for line in text[start:end].split("\n"):
        bare = line.strip()
        if bare:
            first = position + len(line) - len(line.lstrip())
            found.append((first, first + len(bare)))
        position += len(line) + 1
    return found
