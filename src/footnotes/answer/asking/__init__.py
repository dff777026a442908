"""Runs a question through all its stages, and caches answers while nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from footnotes import tracing
from footnotes.answer import Answerer
from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.asking.ground import Ground
from footnotes.answer.asking.memory import AnswerCache, is_cacheable, memory_key, replayed
from footnotes.answer.asking.options import AskChoices, AskOptions, as_turns, changed_settings
from footnotes.answer.asking.run import Run
from footnotes.answer.sources import sources_of
from footnotes.settings import Settings
from footnotes.types import Event

__all__ = ["AskChoices", "AskOptions", "Asking", "Ground", "as_turns", "changed_settings"]

CHOICES = frozenset(field.name for field in fields(AskOptions)) - {"settings"}
"""The options of a question; anything else passed with it is a setting."""


class Asking:
    """Answers questions from one library. Safe to use from several threads."""

    def __init__(self, ground: Ground, settings: Settings, answerer: Answerer) -> None:
        self._ground, self._settings, self._answerer = ground, settings, answerer
        self._remembered = AnswerCache(settings.query_cache)

    def stream(self, question: str, choices: AskChoices) -> Iterator[Event]:
        """Yield events as they happen; the last holds the answer, with the files its footnotes point to."""
        settings = {name: value for name, value in choices.items() if name not in CHOICES}
        given: dict[str, Any] = {name: value for name, value in choices.items() if name in CHOICES}
        given["history"] = as_turns(given.get("history", ()))
        options = AskOptions(**given, settings=changed_settings(self._settings, settings))
        return tracing.stream("answer", self._with_sources(self._events(question, options)), deep=options.deep)

    def _with_sources(self, events: Iterator[Event]) -> Iterator[Event]:
        try:
            for event in events:
                if event.answer is not None:
                    sources = sources_of(event.answer, self._ground.checksum)
                    event = replace(event, answer=replace(event.answer, sources=sources))
                yield event
        finally:
            if callable(close := getattr(events, "close", None)):
                close()

    def _events(self, question: str, options: AskOptions) -> Iterator[Event]:
        run = Run(self._ground, self._answerer, options)
        key = memory_key(question, options, self._state(options)) if self._remembered.size else ""
        if (known := self._remembered.get(key)) is not None:
            yield from replayed(known, run.request_id)
            return
        for event in run.events(question):
            if event.type == "done" and event.answer and is_cacheable(event.answer):
                self._remembered.put(key, event.answer)
            yield event

    def _state(self, options: AskOptions) -> str:
        """Return the state of the library that an answer depends on; only a model reads the collections' prompts."""
        prompts = {} if options.settings.model == EXTRACTIVE else self._ground.system_prompts()
        return f"{self._ground.stamp()} {sorted(prompts.items())}"
