"""A question in a conversation → a question that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnotes.answer.candidates import function_terms
from footnotes.answer.models import ChatModel, ChatRequest, Message, Reply, complete
from footnotes.answer.prompt import escaped
from footnotes.remote.deadline import Deadline
from footnotes.text.analysis import analyze
from footnotes.types import Turn

TURNS = 6
"""Turns of the conversation that are looked at, the last ones."""
SHOWN_CHARACTERS = 1_000
SAID_CHARACTERS = 6_000
"""Characters of the last answer that a model is shown; its end, where it may have broken off."""
MAX_TOKENS = 120
LONGEST = 500

_SYSTEM = (
    "Rewrite the last question of a conversation so that it can be understood without the conversation. Replace words "
    "like 'it', 'they' or 'there' by what they stand for, and keep what else it asks for, such as a table. Do not "
    "answer it. Reply with the question alone."
)
_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|there|then|one|ones|same|former|latter"
    r"|er|sie|es|ihm|ihr|deren|dessen|dort|diese[rsmn]?|eso|esa|ese|ello|ellos|ellas|allí)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^\s*(?:and\s+|but\s+)?(?:what|how)\s+about\s+(.*?\w)\s*[?.!]*\s*$", re.IGNORECASE | re.DOTALL)
_ARTICLE = r"(?:the|a|an|my|our|your)\b"
_AFTER_PREPOSITION = re.compile(r"^(.*\b(?:for|of|in|on|at|to|with|from|by|about))\s+\S", re.IGNORECASE | re.DOTALL)
_AFTER_ARTICLE = re.compile(rf"^(.*\w)\s+{_ARTICLE}\s+\S", re.IGNORECASE | re.DOTALL)
_ORDINAL = re.compile(
    r"\b(?:the|that)\s+(first|second|third|fourth|fifth|last)\s+"
    r"(?:one|item|option|point|step|of (?:them|these|those))\b",
    re.IGNORECASE,
)
_TOPIC = re.compile(
    r"^\s*(?:what (?:is|are|was|were)|what's|who (?:is|was)|define|explain|tell me about)\s+(.+?)\s*[?.!]*\s*\Z"
    r"|^\s*(?:what|how) (?:does|do|did)\s+(.+?)\s+(?:do|work|mean)\s*[?.!]*\s*\Z",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(r"\b(?:it|that|this|them|they)\b(?!\s+(?:is|are|\w+s)\b)", re.IGNORECASE)
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_LISTED = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(.+)$", re.MULTILINE)
FRAGMENT = 3
"""Words up to which a question with one word of its own is a fragment: "For trainees?"."""
MOST_NAMED = 6
"""Words that may be named by it; more are a question of their own."""
_CONTINUING = re.compile(r"^\s*(?:and|but|also|what about|how about|und|aber|y|pero|et|mais)\b", re.IGNORECASE)


def needs_context(question: str) -> bool:
    """Whether a question points back at what was said before."""
    if _CONTINUING.search(question) or _POINTING.search(question):
        return True
    said = content_terms(question)
    return not said or (len(said) < 2 and len(question.split()) <= FRAGMENT)


def content_terms(question: str) -> list[str]:
    """What a question says beside its function words."""
    return [term for term in analyze(question) if term not in function_terms()]


def what_to_answer(question: str, standalone: str) -> str:
    """Which sentences answer is decided by the new question where it says enough: the one before was answered."""
    joined = standalone != question and standalone.endswith(question)
    return question if joined and len(content_terms(question)) >= 2 else standalone


def last_said(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """The last question and its answer, which "make that a table" and "go on" speak of; nothing before an answer."""
    if len(history) < 2 or (history[-2].role, history[-1].role) != ("user", "assistant"):
        return ()
    asked, answered = history[-2:]
    return Turn("user", asked.text[:LONGEST]), Turn("assistant", answered.text[-SAID_CHARACTERS:])


def condense_by_rule(question: str, history: Sequence[Turn]) -> str:
    """The question with the last question of the same person in front, where it points back at it.

    "What about the cello?" asks the same of something else, which takes the place of what was asked about before.
    """
    before = [turn.text for turn in history[-TURNS:] if turn.role == "user" and turn.text.strip()]
    if not before or not needs_context(question):
        return question
    if item := _item_named(question, history):
        return item
    last = before[-1].strip()[:LONGEST]
    return _of_another(question, last) or _with_topic(question, last) or f"{last} {question}"


def _with_topic(question: str, last: str) -> str | None:
    """The question with what the one before asked about in the place of "it" or "that"."""
    topic, pronoun = _TOPIC.match(last), _STANDS_FOR.search(question)
    if topic is None or pronoun is None or len(content_terms(question)) == 0:
        return None
    named = next(part for part in topic.groups() if part).strip()
    if not 0 < len(named.split()) <= MOST_NAMED:
        return None
    return f"{question[: pronoun.start()]}{named}{question[pronoun.end() :]}"


def _item_named(question: str, history: Sequence[Turn]) -> str | None:
    """The question with the item of the last answer's list in the place of "the second one"."""
    found = _ORDINAL.search(question)
    said = next((turn.text for turn in reversed(history[-TURNS:]) if turn.role == "assistant"), "")
    items = [match[1].strip() for match in _LISTED.finditer(said)]
    if found is None or not items:
        return None
    place = _PLACES.get(found[1].lower(), 0)
    if place >= len(items):
        return None
    named = re.split(r"\s[–—-]\s|[:.;]\s|[:.;]\Z", items[place])[0].strip(" *_`|")
    return f"{question[: found.start()]}{named}{question[found.end() :]}" if named else None


def _of_another(question: str, last: str) -> str | None:
    """The last question, asked of what this one names; None where it names nothing or there is no place for it."""
    named = _ABOUT.match(question)
    if named is None or _POINTING.search(named[1]) or len(named[1].split()) > MOST_NAMED:
        return None
    # "for a violin" gives way to "a cello"; without a preposition only like gives way to like: "the …" to "the …".
    alike = re.match(_ARTICLE, named[1], re.IGNORECASE)
    place = _AFTER_PREPOSITION.match(last) or (_AFTER_ARTICLE.match(last) if alike else None)
    return f"{place[1]} {named[1]}?" if place else None


def condense_by_model(
    question: str, history: Sequence[Turn], model: ChatModel, *, deadline: Deadline
) -> tuple[str, Reply]:
    """The question as the model rewrites it, and its reply; the question itself when the reply is of no use."""
    said = "\n".join(f"{turn.role}: {' '.join(turn.text.split())[:SHOWN_CHARACTERS]}" for turn in history[-TURNS:])
    asked = f"Conversation:\n{escaped(said)}\n\nLast question: {escaped(question)}\n\nStandalone question:"
    request = ChatRequest(
        messages=(Message("system", _SYSTEM), Message("user", asked)), temperature=0.0, max_tokens=MAX_TOKENS
    )
    reply = complete(model, request, deadline=deadline)
    rewritten = " ".join(reply.text.strip().strip("\"'“”").split())
    usable = 0 < len(rewritten) <= LONGEST and bool(set(analyze(rewritten)) & set(analyze(said + " " + question)))
    return (rewritten if usable else condense_by_rule(question, history)), reply
