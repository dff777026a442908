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
MAX_TOKENS = 120
LONGEST = 500

_SYSTEM = (
    "Rewrite the last question of a conversation so that it can be understood without the conversation. Replace words "
    "like 'it', 'they' or 'there' by what they stand for. Do not answer it. Reply with the question alone."
)
_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|there|then|one|ones|same|former|latter"
    r"|er|sie|es|ihm|ihr|deren|dessen|dort|diese[rsmn]?|eso|esa|ese|ello|ellos|ellas|allí)\b",
    re.IGNORECASE,
)
_CONTINUING = re.compile(r"^\s*(?:and|but|also|what about|how about|und|aber|y|pero|et|mais)\b", re.IGNORECASE)


def needs_context(question: str) -> bool:
    """Whether a question points back at what was said before."""
    if _CONTINUING.search(question) or _POINTING.search(question):
        return True
    return len([term for term in analyze(question) if term not in function_terms()]) < 2


def condense_by_rule(question: str, history: Sequence[Turn]) -> str:
    """The question with the last question of the same person in front, where it points back at it."""
    before = [turn.text for turn in history[-TURNS:] if turn.role == "user" and turn.text.strip()]
    if not before or not needs_context(question):
        return question
    return f"{before[-1].strip()[:LONGEST]} {question}"


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
