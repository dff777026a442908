"""Turns any text that claims to answer into an answer whose every footnote holds.

The model's own markers are removed and never trusted: our own code aligns each sentence with the retrieved passages.
Unsupported sentences are flagged, or removed under `strict`, where a text without any support becomes an abstention.
Text that states nothing is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from footnotes.answer.align import Aligner, Support
from footnotes.answer.claims import claims_in, says_it_does_not_know
from footnotes.answer.extractive import ABSTENTION
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
        supports = aligner.align(clean[start:end], passages_named_at(markers, start, end)) if stated else []
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


def passages_named_at(markers: Sequence[Marker], start: int, end: int) -> frozenset[int]:
    """Return the passages named by markers in a sentence or right after it."""
    inside = (marker.numbers for marker in markers if start < marker.position <= end)
    return frozenset().union(*inside)


# Citation markers of models: found in every usual form, removed from the text, kept as hints.
#
# Markers are not trusted. What they name only decides between sources that support a sentence equally.


_WORDS = r"(?:sources?|documents?|docs?|passages?|references?|refs?|footnotes?|citations?|context|chunks?|id|no\.?)"
_NUMBER = rf"(?:{_WORDS}\s?[:#_-]?\s?)?\^?#?\d{{1,4}}"
_JOINED = r"\s?(?:,|;|&|and|–|-)\s?"
_LABELLED = rf"{_NUMBER}(?:{_JOINED}{_NUMBER}){{0,40}}(?:†[^\]】\n]{{0,80}}|,?\s?pp?\.?\s?\d{{1,5}}[^\]】\n]{{0,20}})?"
_IDENTIFIER = r"(?=[^\]\s]{0,80}\d)[\w][\w.:/#-]{3,80}"
_MARKER = re.compile(
    rf"\s*+(?:\[\s?(?P<square>{_LABELLED}|{_IDENTIFIER})\s?\](?:\([^()\s]{{0,300}}\))?|【\s?(?P<lens>[^】\n]{{1,120}})】"
    rf"|\((?P<round>{_WORDS}\s?[:#]?\s?{_NUMBER}(?:{_JOINED}{_NUMBER}){{0,40}})\)|<sup>\s?(?P<raised>\d{{1,4}})\s?</sup>)",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_SOURCES_LINE = r"\n[ \t]{0,8}(?:\*\*|#+\s?)?(?:sources|references|citations|footnotes|quellen|fuentes)\b[^\w\n]{0,4}"
_SOURCES = re.compile(_SOURCES_LINE + r"\n.*\Z", re.IGNORECASE | re.DOTALL)
ENDS_IN_SOURCES = re.compile(_SOURCES_LINE + r"\Z", re.IGNORECASE)
"""Matches a text that ends in the heading of a list of sources, which may follow."""
_RANGE = re.compile(r"(\d{1,4})\s?[–-]\s?(\d{1,4})")
_MAX_RANGE = 20


@dataclass(frozen=True, slots=True)
class Marker:
    """What a model named at a position in the text without markers."""

    position: int
    numbers: frozenset[int]
    removed: int  # characters removed there


def without_markers(text: str) -> tuple[str, list[Marker]]:
    """Remove markers and a final list of sources from a text; return the text and the markers' positions."""
    if sources := _SOURCES.search(text):
        text = text[: sources.start()].rstrip()
    clean, markers, begin = "", [], 0
    for match in _outside_code(text):
        named = next(group for group in match.groups() if group is not None)
        clean += text[begin : match.start()]
        markers.append(Marker(len(clean), _numbers(named), match.end() - match.start()))
        begin = match.end()
    return clean + text[begin:], markers


def _outside_code(text: str) -> Iterator[re.Match[str]]:
    code = [match.span() for match in _CODE.finditer(text)]
    starts = [start for start, _ in code]
    for match in _MARKER.finditer(text):
        before = bisect_right(starts, match.end() - 1) - 1
        in_code = before >= 0 and match.end() <= code[before][1]
        if not in_code and not _is_year(match):
            yield match


def _is_year(match: re.Match[str]) -> bool:
    """Return whether a number is an editor's year: `[1998]` is not passage 1,998."""
    named = match["square"] or ""
    return named.isdigit() and 1000 <= int(named) <= 2100


def _numbers(named: str) -> frozenset[int]:
    found = {int(number) for number in re.findall(r"\d{1,4}", named)}
    for first, last in _RANGE.findall(named):
        if int(first) < int(last) <= int(first) + _MAX_RANGE:
            found |= set(range(int(first), int(last)))
    return frozenset(found)
