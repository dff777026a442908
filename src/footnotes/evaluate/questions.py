"""A statement in English → the question a person would ask whose answer it is."""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBER = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|thirty|sixty|ninety)"
_TIME_UNIT = r"(?:second|minute|hour|day|week|month|year|quarter)s?"
_MONEY = r"(?:[$€£]\s?\d[\d.,]*|\d[\d.,]*\s?(?:€|euros?|dollars?|pounds?|EUR|USD|GBP))"
_STATEMENT = re.compile(
    r"(?P<subject>[A-Z“\"'][^,;:()]{1,80}?)\s+"
    r"(?P<verb>is|are|was|were|can|may|must|should|shall|will|has to|have to|cannot)\s+(?P<rest>[^?]+?)[.!]?\s*"
)
_POINTS_BACK = re.compile(
    r"(?:it|this|that|these|those|they|he|she|we|there|here|such|in|on|at|if|when|for|to)\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"\s*(?:[,;:(–]|\bwhich\b|\bwho\b|\bunless\b|\bso that\b|\bbecause\b|\bbut\b)")
_WHY = re.compile(r"\s*,?\s*\b(?:because|so that|in order to)\b.*", re.DOTALL)
_WHEN = re.compile(
    rf"\s*\b(?:(?:within|after|before|by|until|no later than|at least|at|in|on|for)\s+(?:the\s+)?{_NUMBER}\b"
    rf"(?:\s+(?:working\s+|calendar\s+)?{_TIME_UNIT}|\s*[ap]\.?m\.?|\s+\w+\s+\d{{4}})?)(?:\s+(?:after|before|of|from)\b.*)?"
)
_LONG = re.compile(rf"(?:at least |at most |up to |about )?{_NUMBER}\s+(?:working |calendar )?{_TIME_UNIT}\b", re.I)
_LOWERED = frozenset(["the", "a", "an", "all", "each", "every", "both", "our", "your", "most", "some", "no", "any"])


def person_question(sentence: str, is_common: Callable[[str], bool]) -> str:
    """Return the question, or nothing if the statement has no such form.

    `is_common` returns whether a word also occurs in lower case, and so is not a name.
    """
    found = _STATEMENT.fullmatch(" ".join(sentence.split()))
    if found is None or _POINTS_BACK.match(found["subject"]) or len(found["subject"].split()) > 9:
        return ""
    subject, verb, rest = _lower_first(found["subject"], is_common), found["verb"], found["rest"]
    if verb in ("has to", "have to", "cannot"):
        verb, rest = ("can", rest) if verb == "cannot" else ("must", rest)
    if verb in ("is", "are", "was", "were"):
        return _of_being(subject, verb, rest)
    if _WHY.search(rest):
        return f"Why {verb} {subject} {_WHY.sub('', rest)}?"
    if moment := _WHEN.search(rest):
        before = rest[: moment.start()].strip()
        return f"When {verb} {subject} {before}?" if before else ""
    return f"{verb.capitalize()} {subject} {_clause(rest)}?"


def _of_being(subject: str, verb: str, rest: str) -> str:
    if re.match(_MONEY, rest):
        return f"How much {verb} {subject}?"
    if _LONG.match(rest):
        return f"How long {verb} {subject}?"
    if re.match(r"(?:a|an|the)\b", rest):
        return f"What {verb} {subject}?"
    if _WHY.search(rest):
        return f"Why {verb} {subject} {_WHY.sub('', rest)}?"
    if (moment := _WHEN.search(rest)) and (before := rest[: moment.start()].strip()):
        return f"When {verb} {subject} {before}?"
    return f"{verb.capitalize()} {subject} {_clause(rest)}?"


def _clause(rest: str) -> str:
    """The words up to the first break: a person asks for one thing."""
    end = _CLAUSE_END.search(rest)
    return rest[: end.start()] if end and end.start() > 0 else rest


def _lower_first(subject: str, is_common: Callable[[str], bool]) -> str:
    """Write the subject as inside a sentence: names and abbreviations keep their capital."""
    first = subject.split()[0]
    if first.lower() in _LOWERED or (first[1:].islower() and is_common(first.lower())):
        return first.lower() + subject[len(first) :]
    return subject
