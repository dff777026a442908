"""Answers of conversations: each goes on to its end whoever listens, and whoever comes later hears all of it."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from footnotes.engine import Library
from footnotes.errors import FootnotesError, NotFound, ServerBusy
from footnotes.serve.answers import as_json, as_known
from footnotes.serve.keeping import kept_answer
from footnotes.serve.keys import Caller
from footnotes.serve.streams import CHECK_SECONDS, Streams, event_line
from footnotes.serve.threads import Pools
from footnotes.store.groups.conversations import TurnEnd
from footnotes.types import Event, KeptTurn
from footnotes.wire import to_json

_LOG = logging.getLogger("footnotes.serve")
NOTE_SECONDS = 1.0
"""How often what came of an answer is written down."""
SILENT_SECONDS = 60.0
"""An answer of another server of which nothing was written for so long has broken off."""
Place: TypeAlias = tuple[str, str, int]
"""Tenant, conversation and number of a turn."""


@dataclass(eq=False)
class Answering:
    """One answer on its way, and all that was told of it."""

    place: Place
    lines: list[str] = field(default_factory=list)
    text: str = ""
    citations: list[Any] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    end: TurnEnd | None = None
    failure: FootnotesError | None = None
    is_stopped: bool = False
    is_over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def take(self, event: Event) -> None:
        self.lines.append(event_line(event.type, event))
        if event.type == "token":
            self.text += event.text
        if event.citation is not None:
            self.documents.add(event.citation.document_id)
            self.citations.append(to_json(event.citation))
        if event.type in ("done", "error"):
            self.end = _end(event, self)
        self.tell()

    def tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def begun(self) -> None:
        """Until anything is known of it; what was wrong with the question is raised."""
        while not self.lines and not self.is_over:
            await self.changed.wait()
        if not self.lines and self.failure is not None:
            raise self.failure

    async def follow(self) -> AsyncIterator[str | None]:
        """Everything from the beginning, then what comes; None now and then while nothing does."""
        heard = 0
        while True:
            while heard < len(self.lines):
                heard += 1
                yield self.lines[heard - 1]
            if self.is_over:
                return
            waiting = self.changed
            try:
                await asyncio.wait_for(waiting.wait(), CHECK_SECONDS)
            except TimeoutError:
                yield None


class Conversing:
    """The answers this server is at."""

    def __init__(self, streams: Streams, pools: Pools) -> None:
        self.holder = secrets.token_hex(6)
        self._streams, self._pools = streams, pools
        self._running: dict[Place, Answering] = {}

    def running(self, place: Place) -> Answering | None:
        return self._running.get(place)

    def places(self, tenant: str, conversation: str) -> list[Place]:
        """The answers being written for a conversation."""
        return [place for place in self._running if place[:2] == (tenant, conversation)]

    def begin(self, place: Place, caller: Caller, library: Library, events: Iterator[Event]) -> Answering:
        """Answer a question that was written down. The caller has borrowed the library until `task` is done."""
        answering = self._running[place] = Answering(place)
        answering.task = asyncio.create_task(self._drive(answering, caller, library, events))
        return answering

    async def _drive(self, answering: Answering, caller: Caller, library: Library, events: Iterator[Event]) -> None:
        noted = time.monotonic()
        try:
            async for event in self._streams.pull(events, caller):
                if event is not None:
                    answering.take(event)
                if time.monotonic() - noted >= NOTE_SECONDS and answering.end is None:
                    noted = time.monotonic()
                    if not await self._noted(answering, library):
                        answering.is_stopped = True  # it was stopped elsewhere, or is gone
                        break
        except asyncio.CancelledError:
            pass  # somebody stopped it, or the server ends: what came is kept below
        except Exception as error:
            answering.failure = error if isinstance(error, FootnotesError) else as_known(error)
        finally:
            await self._ended(answering, library)

    async def _noted(self, answering: Answering, library: Library) -> bool:
        tenant, *turn = answering.place
        documents = sorted(answering.documents)
        given = (tenant, tuple(turn), self.holder, answering.text, documents)
        try:
            return bool(await self._pools.short.run(library.conversations.note, *given))
        except FootnotesError as error:  # the next note, or the end, says it all again
            _LOG.warning("an answer could not be noted", extra={"reason": error.code})
            return True

    async def _ended(self, answering: Answering, library: Library) -> None:
        tenant, *turn = answering.place
        end = answering.end or _broken(answering)
        if end.error is not None and answering.end is None:
            answering.lines += [event_line("error", {"type": "error", "error": end.error})] if answering.lines else []
        try:
            await self._pools.short.run(library.conversations.end, tenant, tuple(turn), self.holder, end)
        except FootnotesError as error:
            _LOG.warning("the end of an answer could not be kept", extra={"reason": error.code})
        finally:
            answering.is_over = True
            self._running.pop(answering.place, None)
            answering.tell()

    async def stop(self, place: Place) -> bool:
        """Stop an answer of this server and wait until what came of it is kept; False where it is not here."""
        answering = self._running.get(place)
        if answering is None or answering.task is None:
            return False
        if not answering.is_stopped:
            answering.is_stopped = True
            answering.task.cancel()
        await asyncio.wait({answering.task})
        return True

    async def close(self) -> None:
        """End every answer, and keep what came of it."""
        tasks = {answering.task: answering for answering in self._running.values() if answering.task is not None}
        for task, answering in tasks.items():
            if not answering.is_stopped:
                task.cancel()
        if tasks:
            await asyncio.wait(set(tasks))

    # ── what other servers are at

    def is_dead(self, place: Place, turn: KeptTurn, *, is_alone: bool) -> bool:
        """Whether nobody is at a turn that says somebody is."""
        if turn.state != "asking" or place in self._running:
            return False
        silent = datetime.now(UTC) - datetime.fromisoformat(turn.updated_at)
        return is_alone or turn.holder == self.holder or silent.total_seconds() > SILENT_SECONDS

    async def watch(self, place: Place, library: Library) -> AsyncIterator[str | None]:
        """What another server writes down of an answer, as events."""
        tenant, conversation, number = place
        told = ""
        while True:
            with suppress(NotFound):
                turn = await self._pools.short.run(library.conversations.turn, tenant, conversation, number)
                if turn.text.startswith(told) and turn.text != told:
                    yield event_line("token", {"type": "token", "text": turn.text[len(told) :]})
                    told = turn.text
                if turn.state == "asking" and not self.is_dead(place, turn, is_alone=False):
                    yield None
                    await asyncio.sleep(NOTE_SECONDS)
                    continue
                if turn.answer is not None:
                    yield event_line("done", {"type": "done", "answer": turn.answer})
                elif turn.error is not None:
                    yield event_line("error", {"type": "error", "error": turn.error})
            return


def _end(event: Event, answering: Answering) -> TurnEnd:
    """How an answer ended, as it is kept."""
    text, answer = answering.text, event.answer
    documents = (
        {*answering.documents, *(one.document_id for one in answer.citations)} if answer else answering.documents
    )
    kept = _plain(kept_answer(answer)) if answer is not None and answer.answer else None
    if event.type == "done":
        return TurnEnd("done", answer.answer if answer else text, kept, None, sorted(documents))
    return TurnEnd("failed", (answer.answer if answer else "") or text, kept, event.error, sorted(documents))


def _broken(answering: Answering) -> TurnEnd:
    documents = sorted(answering.documents)
    came = {"citations": answering.citations} if answering.citations else None
    if answering.is_stopped:
        return TurnEnd("stopped", answering.text, came, None, documents)
    error = answering.failure or ServerBusy("the server stopped before the answer had ended", remedy="Ask again.")
    return TurnEnd("failed", answering.text, came, error.info(), documents)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without numbers JSON does not know."""
    found: dict[str, Any] = json.loads(as_json(value))
    return found
