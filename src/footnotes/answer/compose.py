"""Chosen sentences → the text of an extractive answer with its footnotes, or the nearest passages with theirs."""

from __future__ import annotations

import re

from footnotes.answer.candidates import Candidate
from footnotes.answer.context import ReadText
from footnotes.answer.disagree import DISAGREE
from footnotes.answer.extend import extended, rendered
from footnotes.answer.extractive import ABSTENTION, Extract
from footnotes.answer.passages import headings_at, lines_of, origin_of, page_of
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import Form
from footnotes.answer.speakers import speaker_of
from footnotes.types import Citation

PASSAGES_FOUND = "No sentence in these documents answers this for certain. These passages are the nearest:"
NEAREST = 3
"""Passages shown where no sentence answers."""
FEWEST = 3
"""Words a sentence must have to be shown as a passage."""
NEAR = 0.4
"""The share of the question's weight that a passage must speak of to be near."""
_ENDED = re.compile(r"[.!?…。！？؟۔:][\"'”’»)\]]*\Z")


def written(
    extracted: Extract, form: Form = "plain", read: ReadText | None = None, opening: str = ""
) -> tuple[str, tuple[Citation, ...]]:
    """The answer's text and its footnotes; the abstention when there are none. `opening` goes before them."""
    if not extracted.sentences:
        return ABSTENTION, ()
    text, citations = f"{DISAGREE}\n\n" if extracted.disagree else opening, list[Citation]()
    for candidate, _ in extracted.sentences:
        whole = extended(candidate, form, read)
        if any(_overlaps(whole, citation) for citation in citations):
            continue
        piece = as_written(whole.text)
        text += _between(text, piece) if citations else ""
        if speaker := speaker_of(whole.passage, whole.start):
            text += f"{speaker}: "
        begin = len(text)
        text += piece
        citations.append(_footnote(len(citations) + 1, whole, (begin, len(text))))
    return text, tuple(citations)


def nearest_passages(extracted: Extract) -> tuple[str, tuple[Citation, ...]] | None:
    """The best passages, each under its place, with a footnote; None when nothing is near."""
    text, citations, seen = PASSAGES_FOUND, list[Citation](), set[tuple[str, int]]()
    for candidate in extracted.near:
        passage = candidate.passage
        if (
            candidate.around < NEAR
            or len(candidate.text.split()) < FEWEST
            or (passage.document_id, passage.start) in seen
        ):
            continue
        seen.add((passage.document_id, passage.start))
        place = " › ".join((passage.filename, *map(plain_text, headings_at(passage, candidate.start)[-2:])))
        page = page_of(passage, candidate.start)
        text += f"\n\n{' '.join(place.split())}{f', p. {page}' if page else ''}\n"
        begin = len(text)
        text += as_written(candidate.text)
        citations.append(_footnote(len(citations) + 1, candidate, (begin, len(text))))
        if len(citations) == NEAREST:
            break
    return (text, tuple(citations)) if citations else None


def as_written(quote: str) -> str:
    """A quote as it stands in an answer: without markup, unless nothing else is in it."""
    return rendered(quote) or " ".join(quote.split())


def _between(text: str, piece: str) -> str:
    """What stands between two pieces: a space after a sentence, a line where one of the two has lines of its own."""
    if not text:
        return ""
    if "\n" in piece or "\n" in text.rpartition("\n\n")[2]:
        return "\n\n"
    return " " if _ENDED.search(text) else "\n"


def _overlaps(candidate: Candidate, citation: Citation) -> bool:
    same = candidate.passage.document_id == citation.document_id
    return same and candidate.start < citation.end and citation.start < candidate.end


def _footnote(marker: int, candidate: Candidate, answer_span: tuple[int, int]) -> Citation:
    passage = candidate.passage
    path, commit = origin_of(passage)
    return Citation(
        marker,
        answer_span,
        passage.document_id,
        passage.filename,
        page_of(passage, candidate.start),
        candidate.start,
        candidate.end,
        candidate.text,
        lines=lines_of(passage, candidate.start, candidate.end),
        path=path,
        commit=commit,
    )
