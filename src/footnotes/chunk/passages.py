"""Short passages that overlap by half; short documents stay whole. Chosen by evaluation (docs/evaluation.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from footnotes.chunk.options import Bounds, check_options
from footnotes.chunk.segments import segments, sentences
from footnotes.types import Metadata, Part, Piece

PARAGRAPH_SHARE = 0.6
"""The share of the size at which a strip ends with its paragraph."""
LEAST_SHARE = 0.4
"""A strip below this share joins the one before it; a section below it takes in the next one."""

LONGEST_WORD = 40
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_WORD = re.compile(r"\S")

Span = tuple[int, int]


class _Sentence(NamedTuple):
    """A run to keep whole, and whether it opens a paragraph or a section."""

    start: int
    end: int
    opens_paragraph: bool
    opens_section: bool


class _Strip(NamedTuple):
    """Neighbouring sentences of about the target size. A passage is two strips."""

    start: int
    end: int
    opens_section: bool


class PassagesChunker:
    """Groups whole sentences into strips of about `characters`; each chunk is two neighbouring strips of a section.

    Every strip except a section's first and last is in two chunks, so no answer loses the text just before or after it.
    Each strip is still embedded once: a chunk's vector is the mean of its strips' vectors. A document of up to `whole`
    characters without sections is one chunk. East Asian characters count as three, because each carries more meaning.
    """

    name: ClassVar[str] = "passages"
    version: ClassVar[int] = 1
    bounds: ClassVar[Bounds] = {"characters": (50, 100_000), "whole": (0, 1_000_000)}

    def __init__(self, *, characters: int = 330, whole: int = 2_000) -> None:
        self._options = check_options(self.name, self.bounds, {"characters": characters, "whole": whole})
        self._characters, self._whole = characters, whole

    @property
    def options(self) -> Metadata:
        return dict(self._options)

    def split(self, part: Part) -> list[Piece]:
        width = _Width(part.text)
        if _is_one_thing(part) and width(0, len(part.text)) <= self._whole:
            bare = part.text.strip()
            first = part.text.find(bare)
            return [Piece(first, first + len(bare))] if bare else []
        strips = list(self._strips(width, list(_sentences(width, part, self._characters))))
        return [_piece(part.start, spans) for section in _sections(strips) for spans in _passages(section)]

    def _strips(self, width: _Width, found: Sequence[_Sentence]) -> Iterator[_Strip]:
        """Collect sentences until the next one would move further from the target size."""
        first = 0
        last: _Strip | None = None
        for index in range(1, len(found) + 1):
            following = found[index] if index < len(found) else None
            if following is not None and not self._closes(width, found[first], found[index - 1], following):
                continue
            strip = _Strip(found[first].start, found[index - 1].end, found[first].opens_section)
            if last is not None and self._is_small(width(strip.start, strip.end)) and not strip.opens_section:
                strip, last = _Strip(last.start, strip.end, last.opens_section), None
            if last is not None:
                yield last
            last, first = strip, index
        if last is not None:
            yield last

    def _is_small(self, size: int) -> bool:
        return size < LEAST_SHARE * self._characters

    def _closes(self, width: _Width, first: _Sentence, last: _Sentence, following: _Sentence) -> bool:
        if following.opens_section and not first.opens_section:
            return True
        size = width(first.start, last.end)
        if self._is_small(size):
            return False
        if following.opens_section or (following.opens_paragraph and size >= PARAGRAPH_SHARE * self._characters):
            return True
        longer = width(first.start, following.end)
        return abs(longer - self._characters) > abs(size - self._characters)


class _Width:
    """Measures spans of a text in characters; East Asian ones count as three."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._has_wide = not text.isascii() and _WIDE.search(text) is not None

    def __call__(self, start: int, end: int) -> int:
        if not self._has_wide:
            return end - start
        return end - start + 2 * sum(map(len, _WIDE.findall(self.text, start, end)))


def _is_one_thing(part: Part) -> bool:
    """Return whether a part is a whole document without sections. Only the last part of a document is short."""
    return part.start == 0 and sum(block.kind == "heading" for block in part.blocks) <= 1


def _sentences(width: _Width, part: Part, size: int) -> Iterator[_Sentence]:
    """Yield the sentences of a part; long ones are cut between words. A heading opens a section with its text."""
    heading = False
    for segment in segments(part):
        opens_paragraph = not heading
        opens_section = segment.kind == "heading" and not heading
        for start, end in sentences(width.text, segment):
            for low, high in _fit(width, start, end, size):
                yield _Sentence(low, high, opens_paragraph, opens_section)
                opens_paragraph = opens_section = False
        heading = segment.kind == "heading"


def _fit(width: _Width, start: int, end: int, size: int) -> Iterator[Span]:
    """Yield the sentence; if longer than 1¼ strips, yield equal pieces of about a strip each."""
    pieces = max(1, round(width(start, end) / size)) if width(start, end) > 1.25 * size else 1
    while pieces > 1:
        cut = _word_end(width.text, start, start + (end - start) // pieces)
        yield start, cut
        following = _WORD.search(width.text, cut, end)
        start, pieces = following.start() if following else end, pieces - 1
    if start < end:
        yield start, end


def _word_end(text: str, start: int, target: int) -> int:
    """Return the end of a word near the target, or the target itself inside a run without spaces."""
    for reach in (target, min(target + LONGEST_WORD, len(text))):
        space = text.rfind(" ", max(start + 1, reach - LONGEST_WORD), reach)
        if space > start:
            return start + len(text[start:space].rstrip())
    return target


def _sections(strips: Sequence[_Strip]) -> Iterator[list[_Strip]]:
    """Group strips by the section they begin in."""
    section: list[_Strip] = []
    for strip in strips:
        if strip.opens_section and section:
            yield section
            section = []
        section.append(strip)
    if section:
        yield section


def _passages(section: list[_Strip]) -> Iterator[list[Span]]:
    """Yield all pairs of neighbours. A strip that is alone in its section is a passage by itself."""
    spans = [(strip.start, strip.end) for strip in section]
    if len(spans) == 1:
        yield spans
    for first, second in pairwise(spans):
        yield [first, second]


def _piece(offset: int, spans: list[Span]) -> Piece:
    parts = tuple((offset + start, offset + end) for start, end in spans)
    return Piece(parts[0][0], parts[-1][1], parts=parts if len(parts) > 1 else ())
