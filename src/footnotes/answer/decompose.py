"""Splits a question of several parts by rule."""

from __future__ import annotations

import re

from footnotes.answer.questions import NAME, form_of
from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze

MAX_PARTS = 4
LONGEST = 500
"""A longer question is not split: it is a text rather than a question."""
MOST_WORDS = 3
"""The maximum words of a side in a question that is only two names: phrases are better searched for as a whole."""
_BETWEEN = re.compile(
    r"\bdifferences?\b.{0,40}?\bbetween\s+(?P<one>.+?)\s+(?:and|or)\s+(?P<other>.+?)[?.]?\s*\Z"
    r"|\bhow (?:does|do|is|are)\s+(?P<this>.+?)\s+(?:compare[ds]?|differ|different)\s+(?:to|with|from)"
    r"\s+(?P<that>.+?)[?.]?\s*\Z"
    r"|\A\s*(?P<left>[^?]{2,60}?)\s+(?:vs\.?|versus)\s+(?P<right>[^?]{2,60}?)[?.]?\s*\Z",
    re.IGNORECASE,
)
_TERSE = re.compile(
    r"\A\s*(?:(?:the )?differences? (?:between|of)\s+)?(?!(?:how|what|when|which|does|is)\b)(?P<one>[^?,:;]{2,60}?)"
    r"\s+(?:vs\.?|versus|or|and|against|compared (?:with|to))\s+(?P<other>[^?,:;]{2,60}?)"
    r"(?=\s*(?:[?,:;]|\s-\s|\s(?:vs\.?|versus|or|and|for|when|if|on|in|at|as|differ|which|what|who|how|why)\s|\Z))",
    re.IGNORECASE,
)
"""Matches two things side by side, in a question that compares: "basic or advanced format for a new config"."""
_SENTENCES = re.compile(r"(?<=[?;])\s+")
_JOINED = re.compile(
    r",?\s+(?:and|und|y|et)\s+(?=(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|does|do|did|can"
    r"|was|wer|wann|wo|welche[rsmn]?|warum|wie|qué|quién|cuándo|dónde|cómo|qui|quand|où|comment)\b)",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"\b(?P<word>from|of|for|with|in|by|to|about|on|at)\s+(?P<one>[^,;?]{2,60}?),?\s+and\s+(?P=word)\s+"
    r"(?P<other>[^,;?]{2,60}?)(?=[?.]?\s*\Z)",
    re.IGNORECASE,
)
"""Matches a question about each of two things: "what came from Bonn and from Rome"."""
_COMPARED = re.compile(
    r"\b(?:compare|difference[s]? between|(?:more|less|older|larger|longer|higher|better)\b.{0,40}?,)\s+(?P<one>.+?)"
    r"\s+(?:and|or|with|to|versus|vs\.?)\s+(?P<other>.+?)[?.]?\s*\Z",
    re.IGNORECASE,
)


def parts_of(question: str) -> list[str]:
    """Return the single questions in a question; itself if it is one."""
    if len(question) > LONGEST:
        return [question]
    if compared := _COMPARED.search(question):
        rest = question[: compared.start("one")]
        return [f"{rest}{compared['one']}", f"{rest}{compared['other']}"]
    if (each := _EACH.search(question)) and not _JOINED.search(question):
        asked = question[: each.start("one")]
        return [f"{asked}{each['one']}?", f"{asked}{each['other']}?"]
    pieces = [part for sentence in _SENTENCES.split(question) for part in _JOINED.split(sentence)]
    asking = [piece.strip(" ,;") for piece in pieces if _has_content(piece)]
    if len(asking) < 2:
        return [question]
    return [_with_subject(part, asking[0]) for part in asking[:MAX_PARTS]]


def sides_of(question: str) -> tuple[str, str] | None:
    """Return the two things a question compares; None if it compares none."""
    if len(question) > LONGEST:
        return None
    found = _BETWEEN.search(question)
    if (found is None or found["left"]) and form_of(question) == "comparison":
        terse = _TERSE.match(question)
        found = terse if terse and max(len(side.split()) for side in terse.groups()) <= MOST_WORDS else found
    sides = [side.strip() for side in found.groups() if side] if found else []
    return (_with_shared_noun(*sides), sides[1]) if len(sides) == 2 else None


def _with_shared_noun(one: str, other: str) -> str:
    """Add the shared plural to the first side: "path" of "path and query parameters" becomes "path parameters"."""
    shared = re.fullmatch(r"(\w+) ([a-z]{2,}[a-rt-z]s)", other)
    is_alike = shared is not None and one[:1].isupper() == other[:1].isupper()
    return f"{one} {shared[2]}" if shared and is_alike and re.fullmatch(r"\w*[a-rt-z]", one) else one


def follow_up(question: str, sentence: str) -> str | None:
    """Return what to search next: the question with new names from its best sentence; None if it has none."""
    known = set(analyze(question))
    names = [name for name in dict.fromkeys(NAME.findall(sentence)) if not set(analyze(name)) <= known]
    return f"{question} {' '.join(names[:4])}" if names else None


def _with_subject(part: str, first: str) -> str:
    """Add the names of the first part to a later one that only points to its subject."""
    if part == first or not re.search(r"\b(?:it|its|they|their|he|his|she|her|this|that)\b", part, re.IGNORECASE):
        return part
    subjects = [name for name in NAME.findall(first) if name not in part]
    subjects = subjects or [word for word in re.findall(r"\w{4,}", first) if analyze(word)[0] not in function_terms()]
    return f"{part} ({' '.join(subjects[:5])})" if subjects else part


def _has_content(piece: str) -> bool:
    return any(term not in function_terms() for term in analyze(piece))
