"""Caches answers for as long as the library does not change."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from footnotes.answer.asking.options import AskOptions
from footnotes.types import Answer, Event, Step, Usage

FROM_MEMORY = "Answered from memory: the library has not changed since this was last asked."
"""The first step of a cached answer."""


class AnswerCache:
    """The most recent answers on an unchanged library. The caller checks them with `is_cacheable` first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Answer | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        if not self.size:
            return
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self.size:
                self._answers.popitem(last=False)


def is_cacheable(answer: Answer) -> bool:
    """Return whether asking again would give the same: not if degraded, broken off, or while vectors are missing."""
    pending = any(leg.status == "pending" for leg in answer.legs.values())
    return not (answer.degraded or answer.incomplete or pending)


def replay(answer: Answer, request_id: str) -> Iterator[Event]:
    """Yield a cached answer as its original events."""
    step = Step("thought", FROM_MEMORY)
    yield Event("step", step=step)
    yield Event("hits", hits=answer.hits)
    begin = 0
    for citation in answer.citations:
        end = max(begin, citation.answer_span[1])
        yield Event("token", text=answer.answer[begin:end])
        yield Event("citation", citation=citation)
        begin = end
    yield Event("token", text=answer.answer[begin:])
    yield Event("usage", usage=Usage())
    again = replace(answer, usage=Usage(), steps=(*answer.steps, step), request_id=request_id, took_ms=0.0)
    yield Event("done", answer=again)


def memory_key(question: str, options: AskOptions, stamp: str) -> str:
    """Hash the stamp (tenant, generation and change), and what else matters: the options and the files they name."""
    chosen = options.settings
    named = (chosen.prompt_template, chosen.synonyms_file, chosen.question_adapter)
    files = [_state_of(path) for path in named if path]
    described = json.dumps([question, stamp, files, asdict(options)], sort_keys=True, default=repr)
    return hashlib.sha256(described.encode("utf-8", "replace")).hexdigest()


def _state_of(path: str) -> tuple[int, int]:
    """Return a value that changes with the file; a missing file is reported by its reader."""
    try:
        found = Path(path).expanduser().stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
