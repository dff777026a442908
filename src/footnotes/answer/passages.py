"""Merges hits into passages: overlapping or touching chunks of a document become one run of canonical text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from footnotes.render import source_of
from footnotes.text.sentences import sentence_spans
from footnotes.text.turns import Head, head_of, speakers_in, turn_spans
from footnotes.types import Hit

_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_RELEASE = re.compile(
    r"\W*(?:(?:version|release)\s+v?\d+(?:\.\w+)*\b|v\d+(?:\.\w+)*\b|\d++(?:\.\w++)++(?!\.?\s+[^\W\d]|\.\s*\Z))",
    re.IGNORECASE,
)
"""Matches headings that name a release; `2.1. Terms` is a section."""
_NUMBERED = re.compile(
    r"\s*(?:(?:chapter|section|part|appendix)\s+)?(?:\(?\d+(?:\.\d+)*[.):]*|[a-z]?\(?[A-Z0-9](?:\.\d+)+\.?|[A-Z]\.)\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of canonical text and its hits. `rank` is the place of its best hit, from 0.

    `speakers` are those in the found parts of the document, if it is a chat.
    """

    document_id: str
    filename: str
    title: str
    start: int
    text: str
    rank: int
    hits: tuple[Hit, ...]
    speakers: frozenset[str] = frozenset()

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def headings(self) -> tuple[str, ...]:
        return self.hits[0].headings

    @property
    def score(self) -> float:
        return max(hit.score for hit in self.hits)


def passages_of(hits: Sequence[Hit]) -> list[Passage]:
    """Merge hits that overlap or touch; best first."""
    ranked = sorted(enumerate(hits), key=lambda pair: (pair[1].document_id, pair[1].start, pair[1].end))
    merged: list[Passage] = []
    for _, group in groupby(ranked, key=lambda pair: pair[1].document_id):
        passages = _merge([_alone(rank, hit) for rank, hit in group])
        speakers = speakers_in([passage.text for passage in passages])
        merged.extend(replace(each, speakers=speakers) if speakers else each for each in passages)
    return sorted(merged, key=lambda passage: passage.rank)


def page_of(passage: Passage, start: int) -> int | None:
    """Return the page of a position in canonical text, or None if the hits do not know it."""
    pages = [page for hit in passage.hits if hit.start <= start < hit.end and (page := _page_in(hit, start))]
    return pages[0] if pages else None


def release_at(passage: Passage, start: int) -> str:
    """Return the heading with the release that a line of release notes belongs to, or nothing."""
    above = [found[1] for found in _HEADING.finditer(passage.text, 0, start - passage.start)]
    return next((each for each in reversed((*headings_at(passage, start), *above)) if _RELEASE.match(each)), "")


def headings_at(passage: Passage, start: int) -> tuple[str, ...]:
    """Return the heading path of the hit at a position."""
    inside = [hit for hit in passage.hits if hit.start <= start < hit.end]
    return (inside or list(passage.hits))[-1].headings


def without_number(heading: str) -> str:
    """Remove the section number of a heading: `12.1.2. LVM`, `(6) Is it safe?`, `Chapter 9. Services`."""
    return heading[found.end() :] if (found := _NUMBERED.match(heading)) else heading


def message_of(passage: Passage, start: int) -> Head | None:
    """Return the head of the message at a position of canonical text, if the passage is from a chat."""
    return head_of(passage.text, start - passage.start, passage.speakers)


def spans_in(passage: Passage) -> list[tuple[int, int]]:
    """Return the sentences of a passage; for a chat those of every turn, without the heads of its messages."""
    if not passage.speakers:
        return sentence_spans(passage.text)
    turns = turn_spans(passage.text, passage.speakers)
    return [(at + start, at + end) for at, last in turns for start, end in sentence_spans(passage.text[at:last])]


def question_before(passage: Passage, start: int) -> tuple[int, int] | None:
    """Return the question at the end of the previous turn, if a position is in the first sentence of a chat turn."""
    turns = turn_spans(passage.text, passage.speakers) if passage.speakers else []
    at = start - passage.start
    place = next((number for number, (first, _) in enumerate(turns) if first == at), 0)
    if not place:
        return None
    first, last = turns[place - 1]
    one, other = (message_of(passage, passage.start + turns[number][0]) for number in (place - 1, place))
    if one is None or other is None or one.name == other.name or not passage.text[first:last].endswith("?"):
        return None
    begin, end = sentence_spans(passage.text[first:last])[-1]
    return first + begin, first + end


def lines_of(passage: Passage, start: int, quote: str) -> tuple[int, int] | None:
    """Return the lines of a quote, counted from 1, or None if the hits do not know them."""
    for hit in passage.hits:
        if hit.lines is not None and hit.start <= start < hit.end:
            break
    else:
        return None
    before = passage.text[max(hit.start - passage.start, 0) : start - passage.start]
    first = hit.lines[0] + before.count("\n")
    return first, first + quote.rstrip().count("\n")


def origin_of(passage: Passage) -> tuple[str, str]:
    """Return path and commit of a source file in a repository; empty for any other document."""
    return source_of(passage.hits[0].metadata)


def _alone(rank: int, hit: Hit) -> Passage:
    return Passage(hit.document_id, hit.filename, hit.title, hit.start, hit.text, rank, (hit,))


def _merge(passages: list[Passage]) -> list[Passage]:
    """Join passages of one document, sorted by start, if the next begins before the last has ended."""
    result = passages[:1]
    for following in passages[1:]:
        joined = _join(result[-1], following)
        result[-1:] = [joined] if joined else [result[-1], following]
    return result


def _join(first: Passage, second: Passage) -> Passage | None:
    overlap = first.end - second.start
    # Texts that differ where they overlap come from two versions of a document: never join those.
    if overlap < 0 or not (first.text.endswith(second.text[:overlap]) or second.text in first.text):
        return None
    text = first.text + second.text[overlap:]
    rank = min(first.rank, second.rank)
    return Passage(first.document_id, first.filename, first.title, first.start, text, rank, first.hits + second.hits)


def _page_in(hit: Hit, start: int) -> int | None:
    if hit.pages is None:
        return None
    first, last = hit.pages
    if first == last:
        return first
    page_starts = hit.metadata.get("page_starts")
    if not isinstance(page_starts, list):
        return None
    pages = [entry for entry in page_starts if isinstance(entry, list) and len(entry) == 2]
    begun = [page for page, begin in pages if isinstance(page, int) and isinstance(begin, int) and begin <= start]
    return max(begun, default=None)
