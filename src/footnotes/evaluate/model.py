"""The chat model of the settings, to write questions."""

from __future__ import annotations

from footnotes.answer import Answerer
from footnotes.answer.models import ChatRequest, Message, complete
from footnotes.answer.prompt import escaped
from footnotes.evaluate.make import Say
from footnotes.remote import Deadline
from footnotes.settings import Settings

_MOST_TOKENS = 120


def chat_of(settings: Settings) -> Say | None:
    """Return a function that calls the model of the settings; None if answers are only extracted from the text."""
    model = Answerer(settings).model()
    if model is None:
        return None

    def say(system: str, user: str) -> str:
        messages = (Message("system", system), Message("user", escaped(user)))
        request = ChatRequest(messages=messages, temperature=0.0, max_tokens=_MOST_TOKENS)
        return complete(model, request, deadline=Deadline(settings.answer_seconds)).text

    return say
