"""/v1/conversations: stored questions and answers. An answer continues when the page is reloaded."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from footnotes.errors import Forbidden, InputError, ServerBusy
from footnotes.library import Library
from footnotes.server import examples
from footnotes.server import replies as r
from footnotes.server.gate import request_id_of
from footnotes.server.keys import Caller
from footnotes.server.models import NewConversationBody, RatingBody, TitleBody, TurnAskBody
from footnotes.server.openapi import MODEL_ERRORS, errors, events
from footnotes.server.responses import SafeJson
from footnotes.server.routes.finding import answer_events
from footnotes.server.running_answers import RunningAnswer, TurnKey, restore_passages
from footnotes.server.state import Reader, ReadLibrary, ServerState, State
from footnotes.server.streams import open_event_stream, stream_events
from footnotes.server.strict import StrictRoute
from footnotes.store.conversations import NewTurn, TurnUpdate
from footnotes.types import Conversation, ErrorInfo, KeptTurn

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=StrictRoute)
Id = Annotated[str, Path(min_length=1, max_length=64)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
MOST_HISTORY = 12
"""Earlier questions and answers that a question is understood with."""
_STREAMED = events(examples.ANSWER_EVENTS) | errors(404, 507, *MODEL_ERRORS, body=True)
_FOLLOW_UP = "Ask a follow-up question"
_ANSWER_DESCRIPTION = "The turn when it is answered; with `Accept: text/event-stream` its events as they happen"
_EVENTS = events(examples.ANSWER_EVENTS) | errors(404)


@router.get("", summary="List conversations", responses=errors())
def conversations(
    library: ReadLibrary,
    caller: Reader,
    q: Annotated[str, Query(max_length=200, description="Words of a title, a question or an answer.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> r.Conversations:
    """Most recently used first. `next_offset` is null on the last page."""
    found = library.conversations.all(caller.tenant, sought=q, limit=limit + 1, offset=offset)
    return r.Conversations(found[:limit], offset + limit if len(found) > limit else None)


@router.post("", summary="Start a conversation", response_description=_ANSWER_DESCRIPTION, responses=_STREAMED)
async def begin(
    request: Request, body: NewConversationBody, library: ReadLibrary, state: State, caller: Reader
) -> KeptTurn | Response:
    """Asks the first question; counts against the month's answers. `Location` is the address of the conversation."""
    conversation = body.id or secrets.token_hex(8)
    return await _ask(request, body, library, state, caller, conversation, begins=True)


@router.get("/{conversation}", summary="One conversation", responses=errors(404))
def conversation(conversation: Id, library: ReadLibrary, state: State, caller: Reader) -> r.WholeConversation:
    """With all its turns. Follow a turn that is still `asking` at its `events`."""
    found = library.conversations.get(caller.tenant, conversation)
    turns = library.conversations.turns(caller.tenant, conversation)
    ended = [_end_if_dead(turn, conversation, library, state, caller) for turn in turns]
    return r.WholeConversation(found, [restore_passages(turn, library) for turn in ended])


@router.patch("/{conversation}", summary="Rename a conversation", responses=errors(404, 507, body=True))
def rename(conversation: Id, body: TitleBody, library: ReadLibrary, state: State, caller: Reader) -> Conversation:
    _check_may_change(state, caller, library, conversation)
    return library.conversations.rename(caller.tenant, conversation, body.title)


@router.delete("/{conversation}", summary="Delete a conversation", responses=errors(404, 507))
async def delete(conversation: Id, library: ReadLibrary, state: State, caller: Reader) -> r.Deleted:
    """Deletes it permanently. Stops an answer that is being written."""

    def drop() -> None:
        _check_may_change(state, caller, library, conversation)
        library.conversations.delete(caller.tenant, conversation)

    await state.pools.short.run(drop)
    for key in state.running_answers.turns_of(caller.tenant, conversation):
        await state.running_answers.stop(key)
    return r.Deleted([conversation])


# ── turns


@router.post("/{conversation}/turns", summary=_FOLLOW_UP, response_description=_ANSWER_DESCRIPTION, responses=_STREAMED)
async def ask(
    conversation: Id, request: Request, body: TurnAskBody, library: ReadLibrary, state: State, caller: Reader
) -> KeptTurn | Response:
    """Asks the next question, in the context of earlier ones. `replaces` replaces a turn and deletes those after it."""
    return await _ask(request, body, library, state, caller, conversation, begins=False)


@router.get("/{conversation}/turns/{number}", summary="One turn", responses=errors(404))
def turn(conversation: Id, number: Number, library: ReadLibrary, state: State, caller: Reader) -> KeptTurn:
    (found,) = library.conversations.turns(caller.tenant, conversation, number)
    return restore_passages(_end_if_dead(found, conversation, library, state, caller), library)


@router.get(
    "/{conversation}/turns/{number}/events",
    summary="Follow an answer",
    response_class=Response,
    response_description="Its events from the first one on",
    responses=_EVENTS,
)
async def follow(
    conversation: Id, number: Number, request: Request, library: ReadLibrary, state: State, caller: Reader
) -> Response:
    """Sends all events of the answer so far, then the rest as they happen."""
    key = (caller.tenant, conversation, number)
    await state.pools.short.run(library.conversations.turns, caller.tenant, conversation, number)
    here = state.running_answers.find(key)
    lines = here.follow() if here is not None else state.running_answers.watch(key, library)
    return open_event_stream(state.streams, caller, lines, request_id_of(request.scope), write=lambda line: line)


@router.post("/{conversation}/turns/{number}/stop", summary="Stop an answer", responses=errors(404, 507))
async def stop(conversation: Id, number: Number, library: ReadLibrary, state: State, caller: Reader) -> KeptTurn:
    """Stores the partial answer."""
    await state.pools.short.run(_check_may_change, state, caller, library, conversation)
    kept = library.conversations
    if not await state.running_answers.stop((caller.tenant, conversation, number)):
        turn_key = (conversation, number)
        await state.pools.short.run(kept.update, caller.tenant, turn_key, TurnUpdate("stopped"), holder=None)
    (turn,) = await state.pools.short.run(kept.turns, caller.tenant, conversation, number)
    return turn


@router.put("/{conversation}/turns/{number}/rating", summary="Rate an answer", responses=errors(404, 507, body=True))
def rate(
    conversation: Id, number: Number, body: RatingBody, library: ReadLibrary, state: State, caller: Reader
) -> KeptTurn:
    """Up, down or neither, with a reason. `footnotes eval --from-ratings` builds a golden set from ratings."""
    _check_may_change(state, caller, library, conversation)
    library.conversations.rate(caller.tenant, conversation, number, body.rating, body.reason)
    (turn,) = library.conversations.turns(caller.tenant, conversation, number)
    return restore_passages(turn, library)


# ── how


async def _ask(
    request: Request,
    body: TurnAskBody,
    library: Library,
    state: ServerState,
    caller: Caller,
    conversation: str,
    *,
    begins: bool,
) -> Response:
    state.streams.check_room(caller)

    def write_down() -> tuple[int, list[tuple[str, str]]]:
        state.intake.check_may_change()
        if not begins:
            _check_may_change(state, caller, library, conversation)
        before = [] if begins else library.conversations.turns(caller.tenant, conversation)
        most, holder = state.settings.serve_conversations, state.running_answers.holder
        new = NewTurn(body.question, body.saved_options(), holder, caller.key_id, most, body.replaces)
        number = library.conversations.ask(caller.tenant, conversation, new, begins=begins)
        return number, _history([one for one in before if one.number < number])

    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    try:
        number, history = await state.pools.short.run(write_down)
    except BaseException:
        await state.pools.short.run(state.answers.refund, caller.tenant)
        raise
    key = (caller.tenant, conversation, number)
    found = await _start_answer(key, library, state, caller, body, history)
    headers = {
        "Location": f"/v1/conversations/{conversation}",
        "X-Turn": str(number),
        "X-Quota-Limit": str(allowance.limit),
        "X-Quota-Remaining": str(allowance.limit - allowance.used),
    }
    if "text/event-stream" in request.headers.get("accept", ""):
        lines = found.follow()
        return stream_events(lines, request_id_of(request.scope), write=lambda line: line, headers=headers)
    async for _ in found.follow():
        pass
    (kept,) = await state.pools.short.run(library.conversations.turns, caller.tenant, conversation, number)
    return SafeJson(await state.pools.short.run(restore_passages, kept, library), headers=headers)


async def _start_answer(
    key: TurnKey,
    library: Library,
    state: ServerState,
    caller: Caller,
    body: TurnAskBody,
    history: list[tuple[str, str]],
) -> RunningAnswer:
    """Start the answer. A question that cannot be asked is removed again, and the error raised."""
    tenant, conversation, number = key
    await state.pools.short.run(state.tenants.borrow, tenant)  # the answer outlives the request
    events = answer_events(state, tenant, library, body.question, **body.options(), history=history)
    found = state.running_answers.begin(key, caller, library, events)
    assert found.task is not None
    found.task.add_done_callback(lambda _: state.tenants.release(tenant))
    try:
        await found.wait_begun()
    except InputError:
        await state.pools.short.run(library.conversations.delete, tenant, conversation, since=number)
        raise
    return found


def _history(turns: list[KeptTurn]) -> list[tuple[str, str]]:
    """The questions and answers before this one, without those that broke off or found nothing."""
    done = [one for one in turns if one.state == "done" and one.text and not (one.answer or {}).get("abstained")]
    pairs = [pair for one in done for pair in (("user", one.question), ("assistant", one.text))]
    return pairs[-MOST_HISTORY:]


def _end_if_dead(turn: KeptTurn, conversation: str, library: Library, state: ServerState, caller: Caller) -> KeptTurn:
    """Mark a turn whose server is gone as failed; return the stored turn."""
    key = (caller.tenant, conversation, turn.number)
    if not state.running_answers.is_dead(key, turn, is_alone=not state.settings.store) or state.settings.read_only:
        return turn
    gone = ServerBusy("the server stopped before the answer was complete", remedy="Ask again.")
    end = TurnUpdate("failed", error=ErrorInfo(gone.code, gone.message, gone.remedy))
    library.conversations.update(caller.tenant, (conversation, turn.number), end, holder=turn.holder)
    (ended,) = library.conversations.turns(caller.tenant, conversation, turn.number)
    return ended


def _check_may_change(state: ServerState, caller: Caller, library: Library, conversation: str) -> None:
    """Raise unless the key began this conversation or may write."""
    state.intake.check_may_change()
    found = library.conversations.get(caller.tenant, conversation)
    if found.owner != caller.key_id and not caller.may("write"):
        raise Forbidden("another key created the conversation", remedy="Use a key with the write scope.")
