"""Splits a model's text into claims. Markup, openings and courtesies state nothing: they are not judged or cited."""

from __future__ import annotations

import re
from collections.abc import Iterator

from footnotes.text.sentences import sentence_spans

Stated = tuple[int, int, str, bool]
"""A sentence: its start and end, the white space before it, and whether it states anything."""

_LEAD = re.compile(r"(?:\s*(?:[-*+•‣◦>]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-z][.)]|\|)(?=\s))*\s*")
_OPENING = re.compile(
    r"(?:[*_]{1,3})?(?:(?:yes|no|yeah|sure|certainly|correct|indeed|however|therefore|thus|hence|also|additionally|moreover"
    r"|furthermore|finally|firstly|first|secondly|second|thirdly|next|then|lastly|overall|specifically|similarly"
    r"|likewise|meanwhile|instead|otherwise|consequently|accordingly|so|but|and|in short|in summary|in conclusion"
    r"|in addition|in other words|in particular|in this case|in that case|in fact|for example|for instance|as a result"
    r"|to summari[sz]e|as stated|as mentioned|as noted|note that|that is|on the other hand|by contrast|in contrast"
    r"|to sum up|answer|step \d{1,2}|note|tip|important|warning|summary|ja|nein|sí|oui|non|jedoch|außerdem)"
    r"|(?:according to|based on|per|from|as (?:stated|described|mentioned|explained) in)"
    r" (?:the |these |this |your |our )?(?:provided |given |cited |above |retrieved )?"
    r"(?:documents?|documentation|docs|passages?|sources?|texts?|context|information)(?: provided| given| above| \d+)?"
    r"|as (?:the|this) (?:documents?|documentation|passages?|sources?|text)"
    r" (?:says?|states?|explains?|notes?|mentions?))"
    r"(?:[*_]{1,3})?(?:\s*[,:–—-]+(?:[*_]{1,3})?\s+|(?<=that)\s+)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"(?:\*\*|__)[^*_\n]{1,60}(?::(?:\*\*|__)|(?:\*\*|__)\s?:)\s+")
_HEADING = re.compile(r"\s*#{1,6}\s|\s*(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?\s*\Z|\s*[-=*_]{3,}\s*\Z")
_RULE = re.compile(r"[\s|:=_*+~`-]*\Z")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_COURTESY = re.compile(
    r"(?:sure|certainly|of course|great question|good question|absolutely|i hope (?:this|that) helps|let me know"
    r"|feel free|here(?: is|'s|’s| are)\b|below (?:is|are)\b|please let me"
    r"|if you have (?:any )?(?:more |further |other )?questions|yes|no|ja|nein"
    r"|answer|sources?|references?|summary|in short|overall)\b[^.!?:]*[.!:]*\Z",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"\bi (?:do not|don't|don’t) know\b|\bi (?:cannot|can't|could not|couldn't) (?:find|answer|say|tell)\b"
    r"|\b(?:documents?|passages?|sources?|texts?|context|information)(?: provided| given| above)?"
    r" (?:do(?:es)? not|don't|doesn't) (?:answer|contain|mention|say|provide|specify|state|include|explain)\b"
    r"|\bnothing in (?:these|the) (?:documents|passages)\b|\bno (?:information|answer|mention) (?:is|was|about|on|in)\b"
    r"|\b(?:is|are) not (?:mentioned|answered|specified|stated|provided|given|found) in (?:the|these)\b",
    re.IGNORECASE,
)
_ADDED = re.compile(r"\d|`|\b[a-z]+[A-Z_]\w")


def claims_in(text: str, begin: int = 0) -> Iterator[Stated]:
    """Yield every sentence from `begin` on; fenced code is one piece that states nothing."""
    last = begin
    for start, end, code in _pieces(text, begin):
        yield start, end, text[last:start], not code and _states(text, start, end)
        last = end


def claim_in(sentence: str) -> tuple[int, int]:
    """Return the span of a sentence's statement, without list marks, openings and marks of emphasis around it."""
    begin = _end_of(_LEAD, sentence, 0)
    for _ in range(3):
        further = _end_of(_LEAD, sentence, _end_of(_TITLE, sentence, _end_of(_OPENING, sentence, begin)))
        if further == begin:
            break
        begin = further
    end = len(sentence.rstrip().rstrip("|").rstrip())
    return (begin, end) if begin < end else (0, len(sentence))


def says_it_does_not_know(text: str) -> bool:
    """Return whether a text without any support says that the documents do not answer."""
    return _UNKNOWN.search(text) is not None


def _end_of(pattern: re.Pattern[str], text: str, begin: int) -> int:
    found = pattern.match(text, begin)
    return found.end() if found else begin


def _pieces(text: str, begin: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the sentences, and the fences between them."""
    last = begin
    for fence in _FENCE.finditer(text):
        if fence.end() <= begin:
            continue
        first = max(fence.start(), begin)
        yield from ((last + start, last + end, False) for start, end in sentence_spans(text[last:first]))
        piece = text[first : fence.end()].rstrip()
        if piece.strip():
            yield first, first + len(piece), True
        last = fence.end()
    yield from ((last + start, last + end, False) for start, end in sentence_spans(text[last:]))


def _states(text: str, start: int, end: int) -> bool:
    piece = text[start:end]
    if _RULE.match(piece) or _HEADING.match(piece) or _is_header(text, start, end):
        return False
    begin, last = claim_in(piece)
    bare = piece[begin:last].strip("*_ \t")
    if _COURTESY.match(bare):
        return False
    return not (bare.endswith(":") and not _ADDED.search(bare))


def _is_header(text: str, start: int, end: int) -> bool:
    """Return whether a span is a row of cells right above the rule of a table."""
    if "|" not in text[start:end]:
        return False
    line = text.find("\n", end)
    following = text[line + 1 : line + 400].partition("\n")[0] if line >= 0 else ""
    return bool(following.strip()) and _RULE.match(following) is not None
