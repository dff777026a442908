"""Who says a sentence of a chat log: the name at the head of its line or above it."""

from __future__ import annotations

import re

from footnotes.answer.passages import Passage

_TIME = r"(?:\[?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T,]*)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?\]?)"
_NAMED = r"(?P<name>@?[^\W\d_][\w.'’-]{0,24}(?: [^\W\d_][\w.'’-]{0,24}){0,2})"
_LINE = re.compile(
    rf"^[ \t>*-]*(?:{_TIME}[ \t,–-]*)?\*{{0,2}}<?{_NAMED}>?\*{{0,2}}(?:[ \t]*\(?{_TIME}\)?)?\*{{0,2}}:\*{{0,2}}[ \t]+",
    re.MULTILINE,
)
_ABOVE = re.compile(rf"^[ \t]*\*{{0,2}}{_NAMED}\*{{0,2}}[ \t,–-]+{_TIME}[ \t]*$", re.MULTILINE)
LEAST = 3
"""Lines with a speaker that make a text a chat."""


def speaker_of(passage: Passage, start: int) -> str:
    """The speaker of the sentence at `start`, where the passage is a chat and the sentence does not say it itself."""
    text, at = passage.text, start - passage.start
    heads = sorted([*_LINE.finditer(text), *_ABOVE.finditer(text)], key=lambda match: match.start())
    if len(heads) < LEAST or len({match["name"] for match in heads}) < 2:
        return ""
    before = [match for match in heads if match.start() <= at]
    if not before or before[-1].start() == at or text[before[-1].start() : at].strip() == "":
        return ""
    return before[-1]["name"].lstrip("@")
