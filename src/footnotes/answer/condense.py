"""Rewrites a question of a conversation into one that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnotes.answer.models import ChatModel, ChatRequest, Message, Reply, complete
from footnotes.answer.prompt import escape
from footnotes.answer.terms import function_terms
from footnotes.remote.deadline import Deadline
from footnotes.text.analysis import analyze
from footnotes.types import Turn

TURNS = 6
"""The last turns of the conversation, which alone are read."""
SHOWN_CHARACTERS = 1_000
SAID_CHARACTERS = 6_000
"""Characters of the last answer shown to a model: its end, as it may have broken off there."""
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
"""The maximum words of a fragment, a question with one content word: "For trainees?"."""
MOST_NAMED = 6
"""The maximum words that a fragment may name; more are a separate question."""
_CONTINUING = re.compile(r"^\s*(?:and|but|also|what about|how about|und|aber|y|pero|et|mais)\b", re.IGNORECASE)


def needs_context(question: str) -> bool:
    """Return whether a question points back to the conversation."""
    if _CONTINUING.search(question) or _POINTING.search(question):
        return True
    said = content_terms(question)
    return not said or (len(said) < 2 and len(question.split()) <= FRAGMENT)


def content_terms(question: str) -> list[str]:
    """Return the terms of a question that are not function words."""
    return [term for term in analyze(question) if term not in function_terms()]


def what_to_answer(question: str, standalone: str) -> str:
    """Return the question to choose sentences by: the new one if it says enough, as the one before was answered."""
    joined = standalone != question and standalone.endswith(question)
    return question if joined and len(content_terms(question)) >= 2 else standalone


def last_said(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the last question and its answer, for "make that a table" and "go on"; nothing before an answer."""
    if len(history) < 2 or (history[-2].role, history[-1].role) != ("user", "assistant"):
        return ()
    asked, answered = history[-2:]
    return Turn("user", asked.text[:LONGEST]), Turn("assistant", answered.text[-SAID_CHARACTERS:])


def condense_by_rule(question: str, history: Sequence[Turn]) -> str:
    """Put the same person's last question in front of a question that points back to it.

    "What about the cello?" asks the same about something else, which replaces the earlier subject.
    """
    before = [turn.text for turn in history[-TURNS:] if turn.role == "user" and turn.text.strip()]
    if not before or not needs_context(question):
        return question
    if item := _item_named(question, history):
        return item
    last = before[-1].strip()[:LONGEST]
    return _of_another(question, last) or _with_topic(question, last) or f"{last} {question}"


def _with_topic(question: str, last: str) -> str | None:
    """Replace "it" or "that" in a question by the subject of the one before."""
    topic, pronoun = _TOPIC.match(last), _STANDS_FOR.search(question)
    if topic is None or pronoun is None or len(content_terms(question)) == 0:
        return None
    named = next(part for part in topic.groups() if part).strip()
    if not 0 < len(named.split()) <= MOST_NAMED:
        return None
    return f"{question[: pronoun.start()]}{named}{question[pronoun.end() :]}"


def _item_named(question: str, history: Sequence[Turn]) -> str | None:
    """Replace "the second one" in a question by that item of the last answer's list."""
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
    """Ask the last question about what this one names; None if it names nothing or nothing can be replaced."""
    named = _ABOUT.match(question)
    if named is None or _POINTING.search(named[1]) or len(named[1].split()) > MOST_NAMED:
        return None
    # "a cello" replaces "for a violin"; without a preposition only like replaces like: "the …" and "the …".
    alike = re.match(_ARTICLE, named[1], re.IGNORECASE)
    place = _AFTER_PREPOSITION.match(last) or (_AFTER_ARTICLE.match(last) if alike else None)
    return f"{place[1]} {named[1]}?" if place else None


def condense_by_model(
    question: str, history: Sequence[Turn], model: ChatModel, *, deadline: Deadline
) -> tuple[str, Reply]:
    """Return the question as rewritten by the model, and its reply; the original question if the reply is useless."""
    said = "\n".join(f"{turn.role}: {' '.join(turn.text.split())[:SHOWN_CHARACTERS]}" for turn in history[-TURNS:])
    asked = f"Conversation:\n{escape(said)}\n\nLast question: {escape(question)}\n\nStandalone question:"
    request = ChatRequest(
        messages=(Message("system", _SYSTEM), Message("user", asked)), temperature=0.0, max_tokens=MAX_TOKENS
    )
    reply = complete(model, request, deadline=deadline)
    rewritten = " ".join(reply.text.strip().strip("\"'“”").split())
    usable = 0 < len(rewritten) <= LONGEST and bool(set(analyze(rewritten)) & set(analyze(said + " " + question)))
    return (rewritten if usable else condense_by_rule(question, history)), reply
