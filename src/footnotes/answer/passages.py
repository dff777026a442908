"""Hits → passages: chunks of one document that overlap or touch become one run of canonical text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from footnotes.answer.speakers import Head, head_of, speakers_in
from footnotes.render import source_of
from footnotes.types import Hit


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of canonical text and the hits it is made of. `rank` is the place of its best hit, from 0.

    `speakers` are those who talk in what was found of the document, where it is a chat.
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
    """The hits merged where they overlap or touch, best first."""
    ranked = sorted(enumerate(hits), key=lambda pair: (pair[1].document_id, pair[1].start, pair[1].end))
    merged: list[Passage] = []
    for _, group in groupby(ranked, key=lambda pair: pair[1].document_id):
        passages = _merge([_alone(rank, hit) for rank, hit in group])
        speakers = speakers_in([passage.text for passage in passages])
        merged.extend(replace(each, speakers=speakers) if speakers else each for each in passages)
    return sorted(merged, key=lambda passage: passage.rank)


def page_of(passage: Passage, start: int) -> int | None:
    """The page a position of canonical text lies on, or None when the hits do not tell."""
    pages = [page for hit in passage.hits if hit.start <= start < hit.end and (page := _page_in(hit, start))]
    return pages[0] if pages else None


def headings_at(passage: Passage, start: int) -> tuple[str, ...]:
    """The heading path of the hit a position lies in."""
    inside = [hit for hit in passage.hits if hit.start <= start < hit.end]
    return (inside or list(passage.hits))[-1].headings


def message_of(passage: Passage, start: int) -> Head | None:
    """The head of the message that a position of canonical text lies in, where the passage is of a chat."""
    return head_of(passage.text, start - passage.start, passage.speakers)


def lines_of(passage: Passage, start: int, end: int) -> tuple[int, int] | None:
    """The lines a span stands on, counted from 1, or None when the hits do not tell."""
    for hit in passage.hits:
        if hit.lines is not None and hit.start <= start < hit.end:
            break
    else:
        return None
    before = passage.text[max(hit.start - passage.start, 0) : start - passage.start]
    first = hit.lines[0] + before.count("\n")
    return first, first + passage.text[start - passage.start : end - passage.start].rstrip().count("\n")


def origin_of(passage: Passage) -> tuple[str, str]:
    """The path and commit of a source file of a repository; empty for any other document."""
    return source_of(passage.hits[0].metadata)


def _alone(rank: int, hit: Hit) -> Passage:
    return Passage(hit.document_id, hit.filename, hit.title, hit.start, hit.text, rank, (hit,))


def _merge(passages: list[Passage]) -> list[Passage]:
    """Passages of one document, sorted by start, joined where the next begins before the last has ended."""
    result = passages[:1]
    for following in passages[1:]:
        joined = _join(result[-1], following)
        result[-1:] = [joined] if joined else [result[-1], following]
    return result


def _join(first: Passage, second: Passage) -> Passage | None:
    overlap = first.end - second.start
    # Texts that disagree where they overlap come from two versions of a document: never stitch those.
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
