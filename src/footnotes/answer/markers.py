"""Citation markers of models: found in every usual form, removed from the text, kept as hints.

Markers are not trusted. What they name only decides between sources that support a sentence equally.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

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
