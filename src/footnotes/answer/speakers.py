# ruff: noqa: E501 (patterns read better whole)
"""Finds the speakers of a chat that a question is about, and relative times in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from footnotes.answer.questions import FUNCTION_WORDS, form_of
from footnotes.text.turns import ASSISTANTS, USERS

_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) (?:night|morning|afternoon|evening|week|weekend|month"
    r"|year|summer|winter|spring|fall|autumn|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:a|an|one|two|three|few"
    r"|couple of|\d+) (?:day|week|weekend|month|year)s? ago|the other day|just (?:now|yesterday)|recently"
    r"|(?:on|since|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|my|me|mine|myself)\b")
_ADVICE_SOUGHT = re.compile(r"\b(?:can|could|should|would|must|may|might|shall) (?:I|we)\b", re.IGNORECASE)
_ASSISTANT_SAID = re.compile(
    r"\byou(?:['’]ve| have| had)? (?:\w+ly |\w+ me )?(?:advise|describe|explain|give|gave|given|list|mention|name|propose|provide|recommend|say|said"
    r"|suggest|tell|told|write|wrote)\w*\b|\byour (?:\w+ )?(?:advice|answer|explanation|list|proposals?|recommendations?|suggestions?)\b",
    re.IGNORECASE,
)
_ADDRESSES = re.compile(r"\byou(?:r|rs|rself|['’](?:re|ve|ll|d))?\b", re.IGNORECASE)
SHORTEST_NAME = 3


def asked_of(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the speakers a question is about: those it names, the user for "did I", the assistant for "you said"."""
    among = frozenset(speakers)
    if named := named_in(question, among):
        return named
    assistants = frozenset(name for name in among if name.lower() in ASSISTANTS)
    if _ASSISTANT_SAID.search(question):
        return assistants
    users = frozenset(name for name in among if name.lower() in USERS)
    own = _FIRST_PERSON.search(question) and not _ADVICE_SOUGHT.search(question) and form_of(question) != "howto"
    return users if own else frozenset()


def named_in(text: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the speakers that a text names."""
    words = frozenset(re.sub(r"['’]s?\Z", "", word) for word in re.findall(r"[\w'’-]+", text))
    words = frozenset(word.lower() for word in words if word not in FUNCTION_WORDS)  # Will is a name, will is not
    return frozenset(name for name in speakers if _parts(name) & words)


def _parts(name: str) -> frozenset[str]:
    """Return the parts a speaker may be called by: the words of the name, without trailing digits."""
    return frozenset(word for word in re.findall(r"[^\W\d_]+", name.lower()) if len(word) >= SHORTEST_NAME)


def is_of_others(question: str) -> bool:
    """Return whether a question asks who did something: another speaker may then tell it about the one it names."""
    return re.match(r"\s*who(?:m|se)?\b", question, re.IGNORECASE) is not None


def is_of_itself(sentence: str) -> bool:
    """Return whether a sentence is about its speaker."""
    return _FIRST_PERSON.search(sentence) is not None or re.search(r"\bi(?:['’]m|['’]ve)?\b", sentence) is not None


def addresses(sentence: str) -> bool:
    """Return whether a sentence is about the person it addresses."""
    return _ADDRESSES.search(sentence) is not None


def is_relative(sentence: str) -> bool:
    """Return whether a sentence has a time relative to when it was said: yesterday, last week, on Monday."""
    return _RELATIVE.search(sentence) is not None
