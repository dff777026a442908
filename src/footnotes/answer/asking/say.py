"""Chat models for callers that only need the reply's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from footnotes.answer import Answerer
from footnotes.answer.models import ChatModel, ChatRequest, Message, complete
from footnotes.answer.prompt import escape
from footnotes.errors import ConfigError
from footnotes.remote import Deadline
from footnotes.settings import Settings

MOST_TOKENS = 120


def saying(settings: Settings, model: str, *, max_tokens: int = MOST_TOKENS) -> Callable[[str, str], str]:
    """Return a function from system and user text to the model's reply. The model opens at the first call."""

    @cache
    def chat() -> ChatModel:
        found = Answerer(replace(settings, model=model)).model()
        if found is None:
            raise ConfigError(f"{model} is no chat model", remedy="Name one as provider:model.")
        return found

    return lambda system, user: reply(chat(), system, user, max_tokens, Deadline(settings.answer_seconds))


def completing(answerer: Answerer) -> Callable[[str, str, Deadline], str]:
    """Return a function that gets a reply from the configured model within a deadline, for the reranker `llm`."""

    def complete_text(system: str, user: str, deadline: Deadline) -> str:
        model = answerer.model()
        if model is None:
            raise ConfigError("no chat model is set", remedy="Name one in the setting `model`.")
        return reply(model, system, user, 300, deadline)

    return complete_text


def reply(model: ChatModel, system: str, user: str, max_tokens: int, deadline: Deadline) -> str:
    """Return a model's reply to one instruction and one text, as likely the same each time as the model can."""
    messages = (Message("system", system), Message("user", escape(user)))
    return complete(
        model, ChatRequest(messages=messages, temperature=0.0, max_tokens=max_tokens), deadline=deadline
    ).text
