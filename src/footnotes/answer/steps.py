"""Finds steps that are no list: consecutive paragraphs that each say what to do."""

from __future__ import annotations

import re
from itertools import pairwise

from footnotes.answer.questions import DOING

LONGEST_STEP = 300
_APART = re.compile(r"\n[ \t]*\n\s*")
_STEP = re.compile(rf"[*_`\s]*(?:(?:then|first|next|now|finally|and|also),? )*{DOING}", re.IGNORECASE)

Span = tuple[int, int]


def steps_around(text: str, start: int) -> Span | None:
    """Return start and end of the run of such paragraphs at a position; None if there is none or only one."""
    paragraphs = _paragraphs(text)
    place = next((number for number, (begin, end) in enumerate(paragraphs) if begin <= start < end), None)
    if place is None or not _is_step(text, paragraphs[place]):
        return None
    first = last = place
    while first > 0 and _is_step(text, paragraphs[first - 1]):
        first -= 1
    while last + 1 < len(paragraphs) and _is_step(text, paragraphs[last + 1]):
        last += 1
    return (paragraphs[first][0], paragraphs[last][1]) if last > first else None


def _paragraphs(text: str) -> list[Span]:
    bounds = [0, *(place for found in _APART.finditer(text) for place in found.span()), len(text)]
    return [span for number, span in enumerate(pairwise(bounds)) if number % 2 == 0]


def _is_step(text: str, span: Span) -> bool:
    return span[1] - span[0] <= LONGEST_STEP and _STEP.match(text, *span) is not None
