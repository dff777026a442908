"""Answers as they come, shown as on a terminal."""

from __future__ import annotations

from footnotes.cli.ask import StreamedAnswer
from footnotes.types import Answer, Citation, Event, Usage


def answer_of(text: str, citations: tuple[Citation, ...] = (), **changes: object) -> Answer:
    fields: dict[str, object] = {
        "question": "?",
        "answer": text,
        "abstained": not citations,
        "citations": citations,
        "hits": (),
        "model": "m",
        "usage": Usage(),
        "steps": (),
        "legs": {},
        "degraded": False,
    }
    return Answer(**(fields | changes))  # type: ignore[arg-type]


def shown(events: list[Event]) -> tuple[str, list[str]]:
    written: list[str] = []
    StreamedAnswer(written.append, written.append).show(events)
    return "".join(written), written
