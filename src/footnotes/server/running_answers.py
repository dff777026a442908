"""Answers of conversations: each runs to its end without listeners, and a late listener gets all events."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from footnotes.errors import FootnotesError, NotFound, ServerBusy
from footnotes.library import Library
from footnotes.server.keys import Caller
from footnotes.server.responses import dump_json, translate_error
from footnotes.server.streams import CHECK_SECONDS, Streams, event_line
from footnotes.server.threads import Pools
from footnotes.store.conversations import TurnUpdate
from footnotes.types import Answer, Event, KeptTurn
from footnotes.wire import to_json

_LOG = logging.getLogger("footnotes.server")
NOTE_SECONDS = 1.0
"""How often the progress of an answer is stored."""
SILENT_SECONDS = 60.0
"""An answer of another server without progress for this long has broken off."""
TurnKey: TypeAlias = tuple[str, str, int]
"""Tenant, conversation and number of a turn."""
_NOT_KEPT = ("prompt", "log")
_DIGEST = "text_digest"


@dataclass(eq=False)
class RunningAnswer:
    """An answer in progress, with its events so far."""

    key: TurnKey
    lines: list[str] = field(default_factory=list)
    text: str = ""
    citations: list[Any] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    end: TurnUpdate | None = None
    failure: FootnotesError | None = None
    is_stopped: bool = False
    is_over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def add(self, event: Event) -> None:
        self.lines.append(event_line(event.type, event))
        if event.type == "token":
            self.text += event.text
        if event.citation is not None:
            self.documents.add(event.citation.document_id)
            self.citations.append(to_json(event.citation))
        if event.type in ("done", "error"):
            self.end = _end(event, self)
        self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def wait_begun(self) -> None:
        """Wait for the first event; raise if the question was invalid."""
        while not self.lines and not self.is_over:
            await self.changed.wait()
        if not self.lines and self.failure is not None:
            raise self.failure

    async def follow(self) -> AsyncIterator[str | None]:
        """Yield every event from the first on; None from time to time while there is none."""
        position = 0
        while True:
            while position < len(self.lines):
                position += 1
                yield self.lines[position - 1]
            if self.is_over:
                return
            waiting = self.changed
            try:
                await asyncio.wait_for(waiting.wait(), CHECK_SECONDS)
            except TimeoutError:
                yield None


class RunningAnswers:
    """The answers in progress on this server."""

    def __init__(self, streams: Streams, pools: Pools) -> None:
        self.holder = secrets.token_hex(6)
        self._streams, self._pools = streams, pools
        self._running: dict[TurnKey, RunningAnswer] = {}

    def find(self, key: TurnKey) -> RunningAnswer | None:
        return self._running.get(key)

    def turns_of(self, tenant: str, conversation: str) -> list[TurnKey]:
        """Return the turns of a conversation that are being answered."""
        return [key for key in self._running if key[:2] == (tenant, conversation)]

    def begin(self, key: TurnKey, caller: Caller, library: Library, events: Iterator[Event]) -> RunningAnswer:
        """Answer a stored question. The caller has borrowed the library until `task` is done."""
        answering = self._running[key] = RunningAnswer(key)
        answering.task = asyncio.create_task(self._run(answering, caller, library, events))
        return answering

    async def _run(self, answering: RunningAnswer, caller: Caller, library: Library, events: Iterator[Event]) -> None:
        last_save = time.monotonic()
        try:
            async for event in self._streams.pull(events, caller):
                if event is not None:
                    answering.add(event)
                if time.monotonic() - last_save >= NOTE_SECONDS and answering.end is None:
                    last_save = time.monotonic()
                    if not await self._save_progress(answering, library):
                        answering.is_stopped = True  # by another server, or the turn was deleted
                        break
        except asyncio.CancelledError:
            pass  # stopped, or the server ends: the text so far is stored below
        except Exception as error:
            answering.failure = error if isinstance(error, FootnotesError) else translate_error(error)
        finally:
            await self._save_end(answering, library)

    async def _save_progress(self, answering: RunningAnswer, library: Library) -> bool:
        update = TurnUpdate("asking", answering.text, documents=sorted(answering.documents))
        try:
            return await self._save(answering, library, update)
        except FootnotesError as error:  # the next note, or the end, stores it all again
            _LOG.warning("an answer could not be noted", extra={"reason": error.code})
            return True

    async def _save_end(self, answering: RunningAnswer, library: Library) -> None:
        end = answering.end or _interrupted_end(answering)
        if end.error is not None and answering.end is None:
            answering.lines += [event_line("error", {"type": "error", "error": end.error})] if answering.lines else []
        try:
            await self._save(answering, library, end)
        except FootnotesError as error:
            _LOG.warning("the end of an answer could not be stored", extra={"reason": error.code})
        finally:
            answering.is_over = True
            self._running.pop(answering.key, None)
            answering.notify()

    async def _save(self, answering: RunningAnswer, library: Library, update: TurnUpdate) -> bool:
        tenant, *turn = answering.key
        save = library.conversations.update
        return bool(await self._pools.short.run(save, tenant, tuple(turn), update, holder=self.holder))

    async def stop(self, key: TurnKey) -> bool:
        """Stop an answer and wait until its text is stored; False if it does not run on this server."""
        answering = self._running.get(key)
        if answering is None or answering.task is None:
            return False
        if not answering.is_stopped:
            answering.is_stopped = True
            answering.task.cancel()
        await asyncio.wait({answering.task})
        return True

    async def close(self) -> None:
        """Stop every answer and store its text."""
        tasks = {answering.task: answering for answering in self._running.values() if answering.task is not None}
        for task, answering in tasks.items():
            if not answering.is_stopped:
                task.cancel()
        if tasks:
            await asyncio.wait(set(tasks))

    # ── answers of other servers

    def is_dead(self, key: TurnKey, turn: KeptTurn, *, is_alone: bool) -> bool:
        """Return whether a turn is stored as running and no server runs it."""
        if turn.state != "asking" or key in self._running:
            return False
        silent = datetime.now(UTC) - datetime.fromisoformat(turn.updated_at)
        return is_alone or turn.holder == self.holder or silent.total_seconds() > SILENT_SECONDS

    async def watch(self, key: TurnKey, library: Library) -> AsyncIterator[str | None]:
        """Yield events for an answer that another server writes, from what that server stores."""
        tenant, conversation, number = key
        text = ""
        while True:
            with suppress(NotFound):
                (turn,) = await self._pools.short.run(library.conversations.turns, tenant, conversation, number)
                if turn.text.startswith(text) and turn.text != text:
                    yield event_line("token", {"type": "token", "text": turn.text[len(text) :]})
                    text = turn.text
                if turn.state == "asking" and not self.is_dead(key, turn, is_alone=False):
                    yield None
                    await asyncio.sleep(NOTE_SECONDS)
                    continue
                if turn.answer is not None:
                    yield event_line("done", {"type": "done", "answer": turn.answer})
                elif turn.error is not None:
                    yield event_line("error", {"type": "error", "error": turn.error})
            return


def _end(event: Event, answering: RunningAnswer) -> TurnUpdate:
    """Return the stored end of an answer."""
    text, answer = answering.text, event.answer
    documents = (
        {*answering.documents, *(one.document_id for one in answer.citations)} if answer else answering.documents
    )
    answer_json = _drop_nan(strip_passages(answer)) if answer is not None and answer.answer else None
    if event.type == "done":
        return TurnUpdate("done", answer.answer if answer else text, answer_json, None, sorted(documents))
    return TurnUpdate("failed", (answer.answer if answer else "") or text, answer_json, event.error, sorted(documents))


def _interrupted_end(answering: RunningAnswer) -> TurnUpdate:
    documents = sorted(answering.documents)
    came = {"citations": answering.citations} if answering.citations else None
    if answering.is_stopped:
        return TurnUpdate("stopped", answering.text, came, None, documents)
    error = answering.failure or ServerBusy("the server stopped before the answer was complete", remedy="Ask again.")
    return TurnUpdate("failed", answering.text, came, error.info(), documents)


def _drop_nan(value: Mapping[str, object]) -> dict[str, Any]:
    """Replace numbers that JSON cannot hold."""
    found: dict[str, object] = json.loads(dump_json(value))
    return found


# ── stored answers: passages are stored as spans, and their text is read from the documents when shown ────────


def strip_passages(answer: Answer) -> dict[str, object]:
    """Return an answer as JSON without the prompt, the log and the text of its passages."""
    content: dict[str, Any] = to_json(answer)
    for name in _NOT_KEPT:
        content[name] = [] if name == "log" else ""
    content["hits"] = [{**hit, "text": "", _DIGEST: _digest(hit["text"])} for hit in content["hits"]]
    content["steps"] = [{**step, "tool_output": None} for step in content["steps"]]
    return content


def restore_passages(turn: KeptTurn, library: Library) -> KeptTurn:
    """Return a turn with the text of its passages. Omits passages that were deleted or have changed."""
    if turn.answer is None:
        return turn
    hits: Any = turn.answer.get("hits") or []
    found: Any = [hit_json for hit in hits if (hit_json := _restore_hit(hit, library)) is not None]
    return replace(turn, answer={**turn.answer, "hits": found})


def _restore_hit(hit: Mapping[str, Any], library: Library) -> dict[str, Any] | None:
    try:
        text = library.text(hit["document_id"], hit["start"], hit["end"])
    except FootnotesError:
        return None
    if _digest(text) != hit[_DIGEST]:
        return None
    return {**{name: value for name, value in hit.items() if name != _DIGEST}, "text": text}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
