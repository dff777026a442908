"""/v1/search and /v1/ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from footnotes.answer import last_answer
from footnotes.config import Settings
from footnotes.engine import Library
from footnotes.errors import OptionError
from footnotes.serve import examples
from footnotes.serve.answers import SafeJson, as_bytes
from footnotes.serve.gate import request_id_of
from footnotes.serve.keys import Caller
from footnotes.serve.models import AskBody, SearchBody
from footnotes.serve.openapi import MODEL_ERRORS, errors, events
from footnotes.serve.state import Books, Reader, ServerState, State
from footnotes.serve.streams import event_line, event_stream
from footnotes.serve.strict import StrictRoute
from footnotes.types import Answer, Event, SearchResult

router = APIRouter(prefix="/v1", tags=["find"], route_class=StrictRoute)
LLM = "llm"


@router.post("/search", summary="Find passages", responses=errors(*MODEL_ERRORS, body=True))
async def search(body: SearchBody, library: Books, state: State, caller: Reader) -> SearchResult | Response:
    """The best passages with the rank and score each leg gave them, and which legs ran.

    Where a language model reranks them, the search counts as an answer.
    """

    def run() -> bytes:
        try:
            found = library.search(**body.given())
        except Exception:
            if reranker == LLM:
                state.answers.give_back(caller.tenant)
            raise
        state.metrics.searched(found)
        return as_bytes(found)

    reranker = await charged_reranker(state, caller, body.reranker)
    # A reranker may be waited for: it must not keep a thread that other searches need.
    threads = state.pools.slow if reranker else state.pools.search
    return Response(await threads.run(run), media_type="application/json")


@router.post(
    "/ask",
    summary="Ask",
    response_description="The answer; with `Accept: text/event-stream` its events as they happen",
    responses=events(examples.ANSWER_EVENTS) | errors(404, *MODEL_ERRORS, body=True),
)
async def ask(request: Request, body: AskBody, library: Books, state: State, caller: Reader) -> Answer | Response:
    """An answer, each sentence with its footnote. Counts against the month's answers."""
    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    headers = {"X-Quota-Limit": str(allowance.limit), "X-Quota-Remaining": str(allowance.limit - allowance.used)}
    answer_events = answering(state, caller.tenant, library, body.question, **body.options())
    if "text/event-stream" in request.headers.get("accept", ""):
        first = await state.pools.slow.run(
            next, answer_events
        )  # what is wrong with the question is a status, not an event
        return event_stream(
            state.streams,
            caller,
            state.streams.pull(_again(first, answer_events), caller),
            request_id_of(request.scope),
            write=lambda event: event_line(event.type, event),
            headers=headers,
        )
    answer = await state.pools.slow.run(last_answer, answer_events)
    return SafeJson(answer, headers=headers)


def allowed_reranker(wanted: str | None, settings: Settings) -> str:
    """The reranker of a search. Callers choose none, one of this machine, or the one the server is set to."""
    offered = ("", "late", LLM, settings.reranker, *(("onnx",) if settings.rerank_model_dir else ()))
    if wanted is not None and wanted not in offered:
        known = ", ".join(filter(None, dict.fromkeys(offered)))
        raise OptionError(f"the server does not offer this reranker; it offers {known}")
    return settings.reranker if wanted is None else wanted


async def charged_reranker(state: ServerState, caller: Caller, wanted: str | None = None) -> str:
    """The reranker of a search; one by a language model counts against the month's answers."""
    reranker = allowed_reranker(wanted, state.settings)
    if reranker == LLM:
        await state.pools.short.run(state.answers.take, caller.tenant)
    return reranker


def answering(state: ServerState, tenant: str, library: Library, question: str, **options: Any) -> Iterator[Event]:
    """The events of a question, counted in the metrics; one that fails is not counted against the month's answers."""
    try:
        options |= state.connections.use(library, tenant, options.pop("model", None))
        for event in library.ask_stream(question, **options):
            if event.answer is not None:
                state.metrics.answered(event.answer)
            if event.type == "error":
                state.answers.give_back(tenant)
            yield event
    except Exception:
        state.answers.give_back(tenant)
        raise


def _again(first: Event, rest: Iterator[Event]) -> Iterator[Event]:
    try:
        yield first
        yield from rest
    finally:
        if callable(close := getattr(rest, "close", None)):
            close()
