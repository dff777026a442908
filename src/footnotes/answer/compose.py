"""Writes an extractive answer from the chosen sentences, or shows the nearest passages, with footnotes."""

from __future__ import annotations

import re

from footnotes.answer.candidates import Candidate
from footnotes.answer.context import ReadText
from footnotes.answer.disagree import DISAGREE
from footnotes.answer.extend import extend_candidate, format_text, with_rest
from footnotes.answer.extractive import ABSTENTION, Extract
from footnotes.answer.hints import item_above, points_back
from footnotes.answer.passages import (
    Passage,
    headings_at,
    lines_of,
    message_of,
    origin_of,
    page_of,
    question_before,
    release_at,
    without_number,
)
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import Form
from footnotes.errors import FootnotesError
from footnotes.text.analysis import analyze
from footnotes.text.turns import day_above
from footnotes.types import Citation

PASSAGES_FOUND = "No sentence in these documents answers this for certain. These passages are the nearest:"
NEAREST = 3
"""Passages shown if no sentence answers."""
FEWEST = 3
"""The minimum words of a sentence to be shown as a passage."""
NEAR = 0.4
"""The share of the question's weight that a near passage must cover."""
NEAR_READ = -0.2
"""The `window` from which a passage is near, even if it uses other words: odds of about 1 to 3 that it answers."""
LONGEST_HEADING = 80
REPEATED = 0.7
DAY_ABOVE = 20_000
"""Characters above a message that are searched for the day of its conversation."""
_STANDS_FOR_NOTHING = re.compile(
    r"it(?:['’]s| is| was) (?:\S+ ){1,3}(?:to|that)\b|(?:this|these|those|such|both) \S+ing\b", re.I
)
_ENDED = re.compile(r"[.!?…。！？؟۔:][\"'”’»)\]]*\Z")


def compose_answer(
    extracted: Extract, form: Form = "plain", read: ReadText | None = None, opening: str = ""
) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer's text, after `opening`, and its footnotes; without any sentence, the abstention."""
    if not extracted.sentences:
        return ABSTENTION, ()
    text, citations = f"{DISAGREE}\n\n" if extracted.disagree else opening, list[Citation]()
    for candidate, _ in extracted.sentences:
        whole = extend_candidate(candidate, form, read)
        if extracted.whole and whole is candidate and not citations:
            whole = with_rest(candidate, read)
        if any(_overlaps(whole, citation) for citation in citations):
            whole = candidate  # the answer already has the sentence it continues
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
    """Return the parent of a list item, which says what "it" is there; empty if the answer already has it."""
    at = candidate.start - candidate.passage.start
    above = plain_text(item_above(candidate.passage.text, at)).rstrip(" .:") if at >= 0 else ""
    return above if len(above) <= LONGEST_HEADING and above not in answer else ""


def _said_by(candidate: Candidate, read: ReadText | None) -> str:
    """Return who says a chat sentence, when, and the question it replies to: in brackets, as it is no quote."""
    passage = candidate.passage
    head = message_of(passage, candidate.start)
    if head is None:
        return ""
    day = _day_of(passage, candidate.start, read)
    when = head.when if day in head.when else f"{day} {head.when}".rstrip()
    asked = question_before(passage, candidate.start)
    reply = f", asked “{as_written(passage.text[slice(*asked)])}”" if asked else ""
    return f"[{', '.join(filter(None, (head.name, when)))}{reply}] "


def _day_of(passage: Passage, start: int, read: ReadText | None) -> str:
    """Find the day above a message: in its passage, in the heading above, or further up in the document."""
    if day := day_above(passage.text, start - passage.start):
        return day
    headings = "\n".join(headings_at(passage, start))
    if day := day_above(headings, len(headings)):
        return day
    if read is None:
        return ""
    try:
        above = read(passage.document_id, max(0, start - DAY_ABOVE), start)
    except FootnotesError:  # the document was deleted after the search
        return ""
    return day_above(above, len(above))


def _antecedent(candidate: Candidate) -> str:
    """Return what an opening "it" stands for if no sentence before it says: the heading above."""
    if not points_back(candidate.text) or _STANDS_FOR_NOTHING.match(candidate.text):
        return ""
    headings = headings_at(candidate.passage, candidate.start)
    about = plain_text(without_number(headings[-1])) if headings else ""
    said = set(analyze(candidate.text))
    return about if len(about) <= LONGEST_HEADING and set(analyze(about)) - said else ""


def nearest_passages(
    extracted: Extract, form: Form = "plain", read: ReadText | None = None
) -> tuple[str, tuple[Citation, ...]] | None:
    """Return the best passages, each under its place, with a footnote; None if nothing is near.

    Each has what it introduces, or else the rest of its paragraph: a reader must be able to judge it.
    """
    text, citations, seen = PASSAGES_FOUND, list[Citation](), set[tuple[str, int]]()
    for candidate in extracted.near:
        passage = candidate.passage
        if (
            not _is_near(candidate)
            or len(candidate.text.split()) < FEWEST
            or (passage.document_id, passage.start) in seen
        ):
            continue
        seen.add((passage.document_id, passage.start))
        whole = extend_candidate(candidate, form, read)
        whole = with_rest(candidate, read) if whole.text == candidate.text else whole
        if any(_overlaps(whole, citation) for citation in citations):
            whole = candidate  # the sentence before it is shown already
        if any(_overlaps(whole, citation) for citation in citations):
            continue
        place = " › ".join((passage.filename, *map(plain_text, headings_at(passage, candidate.start)[-2:])))
        page = page_of(passage, candidate.start)
        text += f"\n\n{' '.join(place.split())}{f', p. {page}' if page else ''}\n"
        begin = len(text)
        text += as_written(whole.text)
        citations.append(_footnote(len(citations) + 1, whole, (begin, len(text))))
        if len(citations) == NEAREST:
            break
    return (text, tuple(citations)) if citations else None


def _is_near(candidate: Candidate) -> bool:
    is_read = candidate.window != 0.0  # 0 stands for a candidate that no reader has read
    return candidate.around >= NEAR or (is_read and candidate.window >= NEAR_READ)


def as_written(quote: str) -> str:
    """Return a quote for an answer: without markup, unless it is nothing else, and without a colon that introduces what
    the answer lacks."""
    text = format_text(quote) or " ".join(quote.split())
    if text.endswith("::"):  # of reStructuredText
        text = text[:-2].rstrip() if text[-3:-2].isspace() else text[:-1]
    return f"{text[:-1]}." if text.endswith(":") and text[-2:-1] not in " :" else text


def _between(text: str, piece: str) -> str:
    """Return the separator of two pieces: a space after a sentence, a line break if one of them has several lines."""
    if not text:
        return ""
    if "\n" in piece or "\n" in text.rpartition("\n\n")[2]:
        return "\n\n"
    return " " if _ENDED.search(text) else "\n"


def _overlaps(candidate: Candidate, citation: Citation) -> bool:
    same = candidate.passage.document_id == citation.document_id
    return same and candidate.start < citation.end and citation.start < candidate.end


def _repeats(text: str, other: str) -> bool:
    """Return whether a list repeats an earlier one: most words of the shorter are in the longer."""
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
        lines=lines_of(passage, candidate.start, candidate.text),
        path=path,
        commit=commit,
    )
