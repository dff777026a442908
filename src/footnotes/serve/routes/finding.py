"""/v1/search and /v1/ask."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response

from footnotes.answer import last_answer
from footnotes.serve import examples
from footnotes.serve import replies as r
from footnotes.serve.answers import SafeJson, as_bytes
from footnotes.serve.gate import request_id_of
from footnotes.serve.models import AskBody, SearchBody
from footnotes.serve.replies import event_content, replies
from footnotes.serve.state import Books, Reader, ServerState, State
from footnotes.serve.streams import event_line, event_stream
from footnotes.serve.strict import StrictRoute
from footnotes.shapes import answer_shape, event_shape, search_shape
from footnotes.types import Event

router = APIRouter(prefix="/v1", tags=["find"], route_class=StrictRoute)
_MODELS = (501, 502, 504)
_ANSWER = replies(
    r.Answer,
    *_MODELS,
    said="The answer; with `Accept: text/event-stream` its events as they happen",
    body=True,
    **event_content(examples.ANSWER_EVENTS),
)


@router.post("/search", summary="Find passages", responses=replies(r.Found, *_MODELS, body=True))
async def search(body: SearchBody, library: Books, state: State) -> Response:
    """The best passages with the rank and score each leg gave them, and which legs ran."""

    def run() -> bytes:
        found = library.search(**body.given())
        state.metrics.searched(found)
        return as_bytes(search_shape(found))

    # A reranker may be waited for: it must not keep a thread that other searches need.
    threads = state.slowly if body.reranker or state.settings.reranker else state.searching
    return Response(await threads.run(run), media_type="application/json")


@router.post("/ask", response_model=None, responses=_ANSWER, summary="Ask")
async def ask(request: Request, body: AskBody, library: Books, state: State, caller: Reader) -> Response:
    """An answer, each sentence with its footnote. Counts against the month's answers."""
    allowance = await run_in_threadpool(state.answers.take, caller.tenant)
    headers = {"X-Quota-Limit": str(allowance.limit), "X-Quota-Remaining": str(allowance.limit - allowance.used)}
    events = counted(library.ask_stream(body.question, **body.options()), state)
    if "text/event-stream" in request.headers.get("accept", ""):
        first = await state.slowly.run(next, events)  # what is wrong with the question is a status, not an event
        return event_stream(
            state.streams,
            caller,
            state.streams.pull(_again(first, events), caller),
            request_id_of(request.scope),
            write=lambda event: event_line(event.type, event_shape(event)),
            headers=headers,
        )
    answer = await state.slowly.run(last_answer, events)
    return SafeJson(answer_shape(answer), headers=headers)


def counted(events: Iterator[Event], state: ServerState) -> Iterator[Event]:
    """The events of a question, its answer counted in the metrics."""
    for event in events:
        if event.answer is not None:
            state.metrics.answered(event.answer)
        yield event


def _again(first: Event, rest: Iterator[Event]) -> Iterator[Event]:
    try:
        yield first
        yield from rest
    finally:
        if callable(close := getattr(rest, "close", None)):
            close()
