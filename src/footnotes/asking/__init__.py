"""A question through all its stages, and the answers remembered while nothing changes."""

from __future__ import annotations

from collections.abc import Iterator

from footnotes.answer import Answerer
from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.models import ChatRequest, Message, complete
from footnotes.answer.prompt import escaped
from footnotes.asking.memory import Remembered, memory_key, replayed, worth_remembering
from footnotes.asking.options import AskOptions, Ground, as_turns, changed_settings
from footnotes.asking.run import Run
from footnotes.config import Settings
from footnotes.errors import ConfigError
from footnotes.remote import Deadline
from footnotes.types import Event

__all__ = ["AskOptions", "Asking", "Ground", "as_turns", "changed_settings"]


class Asking:
    """Asks one engine. Safe to use from several threads."""

    def __init__(self, ground: Ground, settings: Settings, answerer: Answerer) -> None:
        self._ground, self._answerer = ground, answerer
        self._remembered = Remembered(settings.query_cache)

    def completing(self, system: str, user: str, deadline: Deadline) -> str:
        """What the settings' own model says, for those who only need that: the reranker `llm`."""
        model = self._answerer.model()
        if model is None:
            raise ConfigError("no chat model is set", remedy="Name one in the setting `model`.")
        messages = (Message("system", system), Message("user", escaped(user)))
        return complete(model, ChatRequest(messages=messages, temperature=0.0, max_tokens=300), deadline=deadline).text

    def stream(self, question: str, options: AskOptions) -> Iterator[Event]:
        """Events as they happen; the last holds the answer."""
        run = Run(self._ground, self._answerer, options)
        key = memory_key(question, options, self._state(options)) if self._remembered.size else ""
        if (known := self._remembered.get(key)) is not None:
            yield from replayed(known, run.request_id)
            return
        for event in run.events(question):
            if event.type == "done" and event.answer and worth_remembering(event.answer):
                self._remembered.put(key, event.answer)
            yield event

    def _state(self, options: AskOptions) -> str:
        """The library as an answer depends on it; only a model reads the collections' prompts."""
        prompts = {} if options.settings.model == EXTRACTIVE else self._ground.system_prompts()
        return f"{self._ground.stamp()} {sorted(prompts.items())}"
