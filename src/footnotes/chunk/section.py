"""Cuts into sections at headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from footnotes.chunk.options import LEAST_TOKENS, MOST_TOKENS, Bounds, check_options, check_overlap
from footnotes.chunk.packing import Atom, Measured, pack
from footnotes.chunk.rules import paragraph_atoms
from footnotes.chunk.segments import Segment, segments
from footnotes.types import JsonValue, Metadata, Part, Piece

_CHAPTER, _SECTION, _SUBSECTION = 1, 2, 3
_LONGEST_KEPT = 100_000


@dataclass(slots=True)
class Section:
    """A heading and the text under it, down to the next heading of level three or above."""

    level: int
    segments: list[Segment] = field(default_factory=list)
    has_text: bool = False

    @property
    def start(self) -> int:
        return self.segments[0].start

    @property
    def end(self) -> int:
        return self.segments[-1].end


class SectionChunker:
    """Cuts at headings down to level 3; a level 2 section that fits in `tokens` keeps its level 3 sections.

    A section of more than `tokens` is cut into pieces of `split` with `overlap`. A heading without text makes no chunk;
    it joins the next section. A code block of more than `code` tokens is cut like long text, and the metadata of its
    first piece holds all of it.
    """

    name: ClassVar[str] = "section"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {
        "tokens": (LEAST_TOKENS, MOST_TOKENS),
        "split": (LEAST_TOKENS, MOST_TOKENS),
        "overlap": (0, MOST_TOKENS),
        "code": (LEAST_TOKENS, MOST_TOKENS),
    }

    def __init__(self, *, tokens: int = 1000, split: int = 500, overlap: int = 100, code: int = 500) -> None:
        given = {"tokens": tokens, "split": split, "overlap": overlap, "code": code}
        self._options = check_options(self.name, self.bounds, given)
        check_overlap(self.name, min(tokens, split), overlap)
        self._tokens, self._split, self._overlap, self._code = tokens, min(tokens, split), overlap, code

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        measured = Measured(part.text)
        pieces: list[Piece] = []
        for section in _join(measured, list(_sections(segments(part))), self._tokens):
            pieces.extend(self._pieces(measured, section, part.start))
        return pieces

    def _pieces(self, measured: Measured, section: Section, offset: int) -> Iterator[Piece]:
        long_code = [each for each in section.segments if each.kind == "code" and self._is_long(measured, each)]
        if measured.tokens(section.start, section.end) <= self._tokens and not long_code:
            spans = iter(measured.fitted(section.start, section.end, self._tokens))
        else:
            limit = min(self._split, self._code) if long_code else self._split
            atoms = [Atom(start, end) for start, end, _ in paragraph_atoms(measured, section.segments, limit)]
            spans = pack(measured, atoms, limit=limit, overlap=self._overlap, small=0)
        kept: set[int] = set()
        for start, end, tokens in spans:
            metadata = _code_metadata(measured.text, long_code, start, end, offset, kept)
            yield Piece(offset + start, offset + end, metadata=metadata, tokens=tokens)

    def _is_long(self, measured: Measured, segment: Segment) -> bool:
        return measured.tokens(segment.start, segment.end) > self._code


def _sections(found: list[Segment]) -> Iterator[Section]:
    """Yield sections with text. Headings without text join the next section, or the last one."""
    current = Section(0)
    for segment in found:
        level = segment.block.level if segment.kind == "heading" else 0
        if 0 < level <= _SUBSECTION:
            if current.has_text:
                yield current
                current = Section(level)
            current.level = min(level, current.level) if current.segments else level
        current.segments.append(segment)
        current.has_text = current.has_text or segment.kind != "heading"
    if current.segments:
        yield current


def _join(measured: Measured, sections: list[Section], limit: int) -> Iterator[Section]:
    """Yield level-two sections with their level-three ones if all of it fits; otherwise each by itself."""
    index = 0
    while index < len(sections):
        last = index
        if sections[index].level == _SECTION:
            while last + 1 < len(sections) and sections[last + 1].level == _SUBSECTION:
                last += 1
        if last > index and measured.tokens(sections[index].start, sections[last].end) <= limit:
            together = [segment for section in sections[index : last + 1] for segment in section.segments]
            yield Section(_SECTION, together)
        else:
            yield from sections[index : last + 1]
        index = last + 1


def _code_metadata(
    text: str, blocks: list[Segment], start: int, end: int, offset: int, kept: set[int]
) -> dict[str, JsonValue]:
    """Return a long code block whole for the first piece that holds some of it, and its span for the others."""
    for block in blocks:
        if block.start < end and start < block.end:
            metadata: dict[str, JsonValue] = {"code_span": [offset + block.start, offset + block.end]}
            if block.start not in kept:
                kept.add(block.start)
                metadata["code"] = text[block.start : block.end][:_LONGEST_KEPT]
            return metadata
    return {}
