"""Builds windows, sentences with their neighbours, for the reader."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.answer.candidates import Candidate, code_in, is_heading_of_code, is_in_code
from footnotes.answer.hints import item_above
from footnotes.answer.passages import Passage, headings_at, message_of, spans_in
from footnotes.answer.plain import plain_text
from footnotes.answer.reader import Reader, Window

WINDOWS = 6
"""Windows read per question: about 15 ms each on one core."""
BEFORE = 2
"""Sentences before the one a window is for: they mostly say what "it" stands for."""
WINDOW_CHARACTERS, SENTENCE_CHARACTERS, ABOVE_CHARACTERS = 480, 400, 60

Span = tuple[int, int]


def read_candidates(reader: Reader, question: str, ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates in the windows around the best, with the reader's scores."""
    windows = windows_around(ranked, WINDOWS)
    choices = reader.choose(
        question, [Window(title_of(passage, spans[0]), texts_of(passage, spans)) for passage, spans in windows]
    )
    read: dict[tuple[str, int, int], Candidate] = {}
    for (passage, spans), choice in zip(windows, choices, strict=True):
        for span, chance in zip(spans, _with_code(passage, spans, choice.sentences), strict=True):
            for candidate in ranked:
                if candidate.passage is passage and span[0] <= candidate.start - passage.start < span[1]:
                    key = (passage.document_id, candidate.start, candidate.end)
                    found = candidate.with_choice(chance, choice.passage)
                    if key not in read or read[key].chosen < found.chosen:
                        read[key] = found
    return list(read.values())


def _with_code(passage: Passage, spans: Sequence[Span], chances: Sequence[float]) -> list[float]:
    """Give a heading right above code the best chance of that code, which is answered with it and never alone."""
    given, above = list(chances), -1
    code = code_in(passage.text)
    for place, (start, end) in enumerate(spans):
        if not is_in_code(code, start):
            above = place if is_heading_of_code(passage.text, start, end, code) else -1
        elif above >= 0:
            given[above] = max(given[above], chances[place])
    return given


def windows_around(ranked: Sequence[Candidate], most: int) -> list[tuple[Passage, list[Span]]]:
    """Return at most so many windows: around each candidate, best first, that no earlier window has."""
    windows: list[tuple[Passage, list[Span]]] = []
    spans_of: dict[int, list[Span]] = {}
    for candidate in ranked:
        passage, at = candidate.passage, candidate.start - candidate.passage.start
        if any(passage is other and spans[0][0] <= at < spans[-1][1] for other, spans in windows):
            continue
        spans = spans_of.setdefault(id(passage), spans_in(passage))
        place = next(number for number, (_, end) in enumerate(spans) if at < end)
        windows.append((passage, cut_window(spans, place)))
        if len(windows) == most:
            break
    return windows


def cut_window(spans: Sequence[Span], place: int) -> list[Span]:
    """Return the sentence at a place with as many of those before and after it as a window holds."""
    first, size = place, 0
    while first > max(0, place - BEFORE) and size + _length(spans[first - 1]) <= WINDOW_CHARACTERS // 2:
        first -= 1
        size += _length(spans[first])
    last = place + 1
    size += _length(spans[place])
    while last < len(spans) and size + _length(spans[last]) <= WINDOW_CHARACTERS:
        size += _length(spans[last])
        last += 1
    return list(spans[first:last])


def _length(span: Span) -> int:
    return min(span[1] - span[0], SENTENCE_CHARACTERS)


def texts_of(passage: Passage, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the sentences without markup; those of a chat after their speaker's name, items after their parent."""
    texts = [
        _under(item_above(passage.text, _begin(passage.text, start, end)))
        + plain_text(passage.text[start : min(end, start + SENTENCE_CHARACTERS)])
        for start, end in spans
    ]
    heads = [message_of(passage, passage.start + start) for start, _ in spans]
    return tuple(f"{head.name}: {text}" if head else text for text, head in zip(texts, heads, strict=True))


def _begin(text: str, start: int, end: int) -> int:
    return end - len(text[start:end].lstrip())


def _under(item: str) -> str:
    above = plain_text(item)[:ABOVE_CHARACTERS].rstrip(" .:")
    return f"{above}: " if above else ""


def title_of(passage: Passage, first: Span) -> str:
    """Return the last two headings above a window, or else the title of its document."""
    headings = headings_at(passage, passage.start + first[0])
    return plain_text(" ".join(dict.fromkeys((*headings[-2:],)))) or passage.title
