"""Turns any text that claims to answer into an answer whose every footnote holds.

The model's own markers are removed and never trusted: our own code aligns each sentence with the retrieved passages.
Unsupported sentences are flagged, or removed under `strict`, where a text without any support becomes an abstention.
Text that states nothing is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from footnotes.answer.align import Aligner, Support
from footnotes.answer.claims import claims_in, says_it_does_not_know
from footnotes.answer.extractive import ABSTENTION
from footnotes.answer.markers import Marker, without_markers
from footnotes.answer.passages import Passage, lines_of, origin_of, page_of
from footnotes.answer.reader import Reader
from footnotes.types import Citation

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cited:
    """A text without markers, its footnotes, and its unsupported spans. An abstention has neither.

    `uncertain` are spans with a footnote on which the checks disagree.
    """

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[Span, ...]
    abstained: bool = False
    uncertain: tuple[Span, ...] = ()


class Footnotes:
    """Numbers footnotes in the order they appear; the same span of a document is the same footnote."""

    def __init__(self) -> None:
        self._markers: dict[tuple[str, int, int], int] = {}

    def add(self, support: Support, offset: int) -> Citation:
        """Return the footnote for a support; `offset` is where its sentence begins in the answer."""
        passage = support.passage
        key = (passage.document_id, support.start, support.end)
        marker = self._markers.setdefault(key, len(self._markers) + 1)
        start, end = support.claim_span
        path, commit = origin_of(passage)
        return Citation(
            marker=marker,
            answer_span=(offset + start, offset + end),
            document_id=passage.document_id,
            filename=passage.filename,
            page=page_of(passage, support.start),
            start=support.start,
            end=support.end,
            quote=support.quote,
            support=round(support.score, 3),
            lines=lines_of(passage, support.start, support.quote),
            path=path,
            commit=commit,
        )


def cite(
    text: str, passages: Sequence[Passage], *, question: str = "", strict: bool = False, reader: Reader | None = None
) -> Cited:
    """Add a footnote to every sentence of a text that the passages support.

    `passages` are in the order the model saw them, so that invented markers can be detected.
    """
    return cite_with(Aligner(passages, question, reader), text, strict=strict)


def cite_with(aligner: Aligner, text: str, *, strict: bool = False) -> Cited:
    """Do the same as `cite`, with passages prepared for comparison."""
    clean, markers = without_markers(text)
    footnotes = Footnotes()
    written, citations, unsupported, uncertain = "", list[Citation](), list[Span](), list[Span]()
    for start, end, gap, stated in claims_in(clean):
        supports = aligner.align(clean[start:end], named_at(markers, start, end)) if stated else []
        if stated and not supports and strict:
            continue
        written += gap if written else ""
        begin = len(written)
        written += clean[start:end]
        citations.extend(footnotes.add(support, begin) for support in supports)
        if stated and not supports:
            unsupported.append((begin, len(written)))
        elif any(not support.certain for support in supports):
            uncertain.append((begin, len(written)))
    if not citations and (strict or not written):
        return Cited(ABSTENTION, (), (), abstained=True)
    if not citations and says_it_does_not_know(written):
        return Cited(written, (), (), abstained=True)
    if not citations and not unsupported:
        unsupported.append((0, len(written)))  # "Yes." alone, or code alone: nothing shows that this answers
    return Cited(written, tuple(citations), tuple(unsupported), uncertain=tuple(uncertain))


def named_at(markers: Sequence[Marker], start: int, end: int) -> frozenset[int]:
    """Return the passages named by markers in a sentence or right after it."""
    inside = (marker.numbers for marker in markers if start < marker.position <= end)
    return frozenset().union(*inside)
