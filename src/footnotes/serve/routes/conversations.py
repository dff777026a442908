"""/v1/conversations: questions and answers that are kept, and go on when the page is loaded again."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from footnotes.engine import Library
from footnotes.errors import Forbidden, InputError, ServerBusy
from footnotes.serve import examples
from footnotes.serve import replies as r
from footnotes.serve.answers import SafeJson
from footnotes.serve.conversing import Answering, Place
from footnotes.serve.gate import request_id_of
from footnotes.serve.keeping import shown_turn
from footnotes.serve.keys import Caller
from footnotes.serve.models import NewConversationBody, RatingBody, TitleBody, TurnAskBody
from footnotes.serve.openapi import MODEL_ERRORS, errors, events
from footnotes.serve.routes.finding import answering
from footnotes.serve.state import Books, Reader, ServerState, State
from footnotes.serve.streams import counted_stream, event_stream
from footnotes.serve.strict import StrictRoute
from footnotes.store.groups.conversations import NewTurn, TurnEnd
from footnotes.types import Conversation, ErrorInfo, KeptTurn

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=StrictRoute)
Id = Annotated[str, Path(min_length=1, max_length=64)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
MOST_HISTORY = 12
"""Questions and answers before it that a question is understood by."""
_STREAMED = events(examples.ANSWER_EVENTS) | errors(404, 507, *MODEL_ERRORS, body=True)
_ANSWERED = "The turn when it is answered; with `Accept: text/event-stream` its events as they happen"


@router.get("", summary="List conversations", responses=errors())
def conversations(
    library: Books,
    caller: Reader,
    q: Annotated[str, Query(max_length=200, description="Words of a title, a question or an answer.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> r.Conversations:
    """Those last spoken in first. `next_offset` is null on the last page."""
    found = library.conversations.all(caller.tenant, sought=q, limit=limit + 1, offset=offset)
    return r.Conversations(found[:limit], offset + limit if len(found) > limit else None)


@router.post("", summary="Begin a conversation", response_description=_ANSWERED, responses=_STREAMED)
async def begin(
    request: Request, body: NewConversationBody, library: Books, state: State, caller: Reader
) -> KeptTurn | Response:
    """Its first question; counts against the month's answers. `Location` says where the conversation is."""
    conversation = body.id or secrets.token_hex(8)
    return await _ask(request, body, library, state, caller, conversation, begins=True)


@router.get("/{conversation}", summary="One conversation", responses=errors(404))
def conversation(conversation: Id, library: Books, state: State, caller: Reader) -> r.WholeConversation:
    """With all its turns. One that is still `asking` can be followed at its `events`."""
    found = library.conversations.one(caller.tenant, conversation)
    turns = [_settled(turn, conversation, library, state, caller) for turn in _turns(library, caller, conversation)]
    return r.WholeConversation(found, [shown_turn(turn, library) for turn in turns])


@router.patch("/{conversation}", summary="Rename a conversation", responses=errors(404, 507, body=True))
def rename(conversation: Id, body: TitleBody, library: Books, state: State, caller: Reader) -> Conversation:
    _check_may_change(state, caller, library, conversation)
    return library.conversations.rename(caller.tenant, conversation, body.title)


@router.delete("/{conversation}", summary="Delete a conversation", responses=errors(404, 507))
async def delete(conversation: Id, library: Books, state: State, caller: Reader) -> r.Deleted:
    """For good. An answer that is being written for it is stopped."""

    def drop() -> None:
        _check_may_change(state, caller, library, conversation)
        library.conversations.delete(caller.tenant, conversation)

    await state.pools.short.run(drop)
    for place in state.conversing.places(caller.tenant, conversation):
        await state.conversing.stop(place)
    return r.Deleted([conversation])


# ── turns


@router.post("/{conversation}/turns", summary="Ask on", response_description=_ANSWERED, responses=_STREAMED)
async def ask(
    conversation: Id, request: Request, body: TurnAskBody, library: Books, state: State, caller: Reader
) -> KeptTurn | Response:
    """The next question, understood by those before it. `replaces` asks one again, and ends what came after it."""
    return await _ask(request, body, library, state, caller, conversation, begins=False)


@router.get("/{conversation}/turns/{number}", summary="One turn", responses=errors(404))
def turn(conversation: Id, number: Number, library: Books, state: State, caller: Reader) -> KeptTurn:
    found = library.conversations.turn(caller.tenant, conversation, number)
    return shown_turn(_settled(found, conversation, library, state, caller), library)


_EVENTS = events(examples.ANSWER_EVENTS) | errors(404)


@router.get(
    "/{conversation}/turns/{number}/events",
    summary="Follow an answer",
    response_class=Response,
    response_description="Its events from the first one on",
    responses=_EVENTS,
)
async def follow(
    conversation: Id, number: Number, request: Request, library: Books, state: State, caller: Reader
) -> Response:
    """All that came of an answer, then the rest as it happens."""
    place = (caller.tenant, conversation, number)
    await state.pools.short.run(library.conversations.turn, caller.tenant, conversation, number)
    here = state.conversing.running(place)
    lines = here.follow() if here is not None else state.conversing.watch(place, library)
    return event_stream(state.streams, caller, lines, request_id_of(request.scope), write=lambda line: line)


@router.post("/{conversation}/turns/{number}/stop", summary="Stop an answer", responses=errors(404, 507))
async def stop(conversation: Id, number: Number, library: Books, state: State, caller: Reader) -> KeptTurn:
    """What came is kept."""
    await state.pools.short.run(_check_may_change, state, caller, library, conversation)
    kept = library.conversations
    if not await state.conversing.stop((caller.tenant, conversation, number)):
        await state.pools.short.run(kept.stop, caller.tenant, conversation, number)
    return await state.pools.short.run(kept.turn, caller.tenant, conversation, number)


@router.put("/{conversation}/turns/{number}/rating", summary="Judge an answer", responses=errors(404, 507, body=True))
def rate(conversation: Id, number: Number, body: RatingBody, library: Books, state: State, caller: Reader) -> KeptTurn:
    """Up, down or neither, and why. `footnotes eval --from-ratings` makes a golden set of it."""
    state.intake.check_may_change()
    library.conversations.rate(caller.tenant, conversation, number, body.rating, body.reason)
    return shown_turn(library.conversations.turn(caller.tenant, conversation, number), library)


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
        if body.replaces is not None:
            _check_may_change(state, caller, library, conversation)
        before = [] if begins else _turns(library, caller, conversation)
        most = state.settings.serve_conversations
        new = NewTurn(body.question, body.kept(), state.conversing.holder, caller.key_id, most, body.replaces)
        number = library.conversations.ask(caller.tenant, conversation, new, begins=begins)
        return number, _history([one for one in before if one.number < number])

    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    try:
        number, history = await state.pools.short.run(write_down)
    except BaseException:
        await state.pools.short.run(state.answers.give_back, caller.tenant)
        raise
    place = (caller.tenant, conversation, number)
    found = await _started(place, library, state, caller, body, history)
    headers = {
        "Location": f"/v1/conversations/{conversation}",
        "X-Turn": str(number),
        "X-Quota-Limit": str(allowance.limit),
        "X-Quota-Remaining": str(allowance.limit - allowance.used),
    }
    if "text/event-stream" in request.headers.get("accept", ""):
        lines = found.follow()
        return counted_stream(lines, request_id_of(request.scope), write=lambda line: line, headers=headers)
    async for _ in found.follow():
        pass
    kept = await state.pools.short.run(library.conversations.turn, caller.tenant, conversation, number)
    return SafeJson(await state.pools.short.run(shown_turn, kept, library), headers=headers)


async def _started(
    place: Place,
    library: Library,
    state: ServerState,
    caller: Caller,
    body: TurnAskBody,
    history: list[tuple[str, str]],
) -> Answering:
    """The answer on its way. A question that cannot be asked is taken back, and said to be so."""
    tenant, conversation, number = place
    await state.pools.short.run(state.tenants.borrow, tenant)  # the answer outlives the request
    events = answering(state, tenant, library, body.question, **body.options(), history=history)
    found = state.conversing.begin(place, caller, library, events)
    assert found.task is not None
    found.task.add_done_callback(lambda _: state.tenants.give_back(tenant))
    try:
        await found.begun()
    except InputError:
        await state.pools.short.run(library.conversations.drop_turn, tenant, conversation, number)
        raise
    return found


def _turns(library: Library, caller: Caller, conversation: str) -> list[KeptTurn]:
    return library.conversations.turns(caller.tenant, conversation)


def _history(turns: list[KeptTurn]) -> list[tuple[str, str]]:
    """What was asked and answered before; what broke off or found nothing is left out."""
    said = [one for one in turns if one.state == "done" and one.text and not (one.answer or {}).get("abstained")]
    pairs = [pair for one in said for pair in (("user", one.question), ("assistant", one.text))]
    return pairs[-MOST_HISTORY:]


def _settled(turn: KeptTurn, conversation: str, library: Library, state: ServerState, caller: Caller) -> KeptTurn:
    """A turn; of one whose server is gone it is written down that it broke off."""
    place = (caller.tenant, conversation, turn.number)
    if not state.conversing.is_dead(place, turn, is_alone=not state.settings.store) or state.settings.read_only:
        return turn
    gone = ServerBusy("the server stopped before the answer had ended", remedy="Ask again.")
    end = TurnEnd("failed", turn.text, None, ErrorInfo(gone.code, gone.message, gone.remedy))
    library.conversations.end(caller.tenant, (conversation, turn.number), turn.holder, end)
    return library.conversations.turn(caller.tenant, conversation, turn.number)


def _check_may_change(state: ServerState, caller: Caller, library: Library, conversation: str) -> None:
    """A key that may only read changes what it began itself; who may write changes all of the tenant's."""
    state.intake.check_may_change()
    found = library.conversations.one(caller.tenant, conversation)
    if found.owner != caller.key_id and not caller.may("write"):
        raise Forbidden("the conversation was begun with another key", remedy="Use a key with the write scope.")
