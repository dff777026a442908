"""Chosen sentences → the text of an extractive answer with its footnotes, or the nearest passages with theirs."""

from __future__ import annotations

import re

from footnotes.answer.candidates import Candidate
from footnotes.answer.context import ReadText
from footnotes.answer.disagree import DISAGREE
from footnotes.answer.extend import extended, rendered
from footnotes.answer.extractive import ABSTENTION, Extract
from footnotes.answer.hints import item_above, points_back
from footnotes.answer.passages import Passage, headings_at, lines_of, message_of, origin_of, page_of, release_at
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import Form
from footnotes.answer.speakers import day_before, is_relative, opens_message
from footnotes.errors import FootnotesError
from footnotes.text.analysis import analyze
from footnotes.types import Citation

PASSAGES_FOUND = "No sentence in these documents answers this for certain. These passages are the nearest:"
NEAREST = 3
"""Passages shown where no sentence answers."""
FEWEST = 3
"""Words a sentence must have to be shown as a passage."""
NEAR = 0.4
"""The share of the question's weight that a passage must speak of to be near."""
LONGEST_HEADING = 80
REPEATED = 0.7
DAY_ABOVE = 20_000
"""Characters above a message in which the day of its conversation is looked for."""
_STANDS_FOR_NOTHING = re.compile(
    r"it(?:['’]s| is| was) (?:\S+ ){1,3}(?:to|that)\b|(?:this|these|those|such|both) \S+ing\b", re.I
)
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
            whole = candidate  # what it goes on from is said already
        if any(_overlaps(whole, citation) or _repeats(whole.text, citation.quote) for citation in citations):
            continue
        piece = as_written(whole.text)
        text += _between(text, piece) if citations else ""
        if said := _said_by(whole, read):
            text += said
        elif (release := release_at(whole.passage, whole.start)) and release not in whole.text:
            text += f"[{plain_text(release)}] "
        elif about := _item_above(whole, text) or (_antecedent(whole) if whole.start == candidate.start else ""):
            text += f"[{about}] "
        begin = len(text)
        text += piece
        citations.append(_footnote(len(citations) + 1, whole, (begin, len(text))))
    return text, tuple(citations)


def _item_above(candidate: Candidate, answer: str) -> str:
    """The item that one below it belongs to, which says what "it" is there; empty where the answer has it already."""
    at = candidate.start - candidate.passage.start
    above = plain_text(item_above(candidate.passage.text, at)).rstrip(" .:") if at >= 0 else ""
    return above if len(above) <= LONGEST_HEADING and above not in answer else ""


def _said_by(candidate: Candidate, read: ReadText | None) -> str:
    """Who says a sentence of a chat where it does not say so itself, and the day where it tells a time by that."""
    passage, at = candidate.passage, candidate.start - candidate.passage.start
    head = message_of(passage, candidate.start)
    if head is None:
        return ""
    who = "" if opens_message(passage.text, at, head) else f"{head.text}: "
    when = _day_of(passage, candidate.start, read) if is_relative(candidate.text) else ""
    return f"[{when}] {who}" if when and when not in who + candidate.text else who


def _day_of(passage: Passage, start: int, read: ReadText | None) -> str:
    """The day above a message: in its passage, over it as a heading, or further up in the document."""
    if day := day_before(passage.text, start - passage.start):
        return day
    headings = " ".join(headings_at(passage, start))
    if day := day_before(headings, len(headings)):
        return day
    if read is None:
        return ""
    try:
        above = read(passage.document_id, max(0, start - DAY_ABOVE), start)
    except FootnotesError:  # deleted since it was found
        return ""
    return day_before(above, len(above))


def _antecedent(candidate: Candidate) -> str:
    """What "it" at the head of a sentence stands for where no sentence before says it: the heading over it."""
    if not points_back(candidate.text) or _STANDS_FOR_NOTHING.match(candidate.text):
        return ""
    headings = headings_at(candidate.passage, candidate.start)
    about = plain_text(headings[-1]) if headings else ""
    said = set(analyze(candidate.text))
    return about if len(about) <= LONGEST_HEADING and set(analyze(about)) - said else ""


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
    """A quote as it stands in an answer: without markup, unless nothing else is in it, and without a colon that leads
    to what the answer does not have."""
    text = rendered(quote) or " ".join(quote.split())
    return f"{text[:-1]}." if text.endswith(":") and text[-2:-1] not in " :" else text


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


def _repeats(text: str, other: str) -> bool:
    """Whether a list says what one before it said: most words of the shorter stand in the longer."""
    one, two = frozenset(analyze(text)), frozenset(analyze(other))
    fewer = min(len(one), len(two))
    return "\n" in text and "\n" in other and fewer > 0 and len(one & two) >= REPEATED * fewer


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
