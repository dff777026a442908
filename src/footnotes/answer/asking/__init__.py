"""Runs a question through all its stages, and caches answers while nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from footnotes import tracing
from footnotes.answer import Answerer
from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.asking.ground import Ground
from footnotes.answer.asking.memory import AnswerCache, is_cacheable, memory_key, replay
from footnotes.answer.asking.options import AskChoices, AskOptions, AskRequest, as_turns, change_settings
from footnotes.answer.asking.run import Run
from footnotes.settings import Settings
from footnotes.types import Answer, AnswerSource, Citation, Event, Hit

__all__ = ["AskChoices", "AskOptions", "AskRequest", "Asking", "Ground", "as_turns", "change_settings"]

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
        options = AskOptions(**given, settings=change_settings(self._settings, settings))
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
            yield from replay(known, run.request_id)
            return
        for event in run.events(question):
            if event.type == "done" and event.answer and is_cacheable(event.answer):
                self._remembered.put(key, event.answer)
            yield event

    def _state(self, options: AskOptions) -> str:
        """Return the state of the library that an answer depends on; only a model reads the collections' prompts."""
        prompts = {} if options.settings.model == EXTRACTIVE else self._ground.system_prompts()
        return f"{self._ground.stamp()} {sorted(prompts.items())}"


# ── lists the documents and sections behind footnotes, each once ──────────────────────────────────────────────


def sources_of(answer: Answer, checksum_of: Callable[[str], str]) -> tuple[AnswerSource, ...]:
    """Return the sources of an answer's footnotes, in their order."""
    found = {}
    for citation in answer.citations:
        section = next((hit.heading for hit in answer.hits if _holds(hit, citation)), None)
        place = (citation.document_id, section, citation.page)
        if place not in found:
            checksum = checksum_of(citation.document_id)
            found[place] = AnswerSource(
                citation.document_id, citation.filename, section=section, page=citation.page, checksum=checksum
            )
    return tuple(found.values())


def _holds(hit: Hit, citation: Citation) -> bool:
    return hit.document_id == citation.document_id and hit.start <= citation.start < hit.end
