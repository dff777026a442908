"""/v1/search and /v1/ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from footnotes.answer import last_answer
from footnotes.errors import OptionError
from footnotes.library import Library
from footnotes.server import examples
from footnotes.server import replies as r
from footnotes.server.gate import request_id_of
from footnotes.server.keys import Caller
from footnotes.server.models import AskBody, SearchBody
from footnotes.server.openapi import MODEL_ERRORS, errors, events
from footnotes.server.quota import KEY
from footnotes.server.responses import SafeJson, encode_json
from footnotes.server.samples import sample_questions
from footnotes.server.state import Reader, ReadLibrary, ServerState, State
from footnotes.server.streams import event_line, open_event_stream, prepend
from footnotes.server.strict import StrictRoute, parse_filter
from footnotes.settings import NO_RERANKER, Settings
from footnotes.types import Answer, Event, SearchResult

router = APIRouter(prefix="/v1", tags=["find"], route_class=StrictRoute)
LLM = "llm"


@router.post("/search", summary="Find passages", responses=errors(404, *MODEL_ERRORS, body=True))
async def search(body: SearchBody, library: ReadLibrary, state: State, caller: Reader) -> SearchResult | Response:
    """Returns the best passages with the rank and score in each leg, and which legs ran.

    If a language model reranks them, the search counts as an answer.
    """

    def run() -> bytes:
        try:
            found = state.searches.search(library, caller.tenant, body.options(), here=bool(reranker))
        except Exception:
            if reranker == LLM:
                state.answers.refund(caller.tenant)
            raise
        state.metrics.count_search(found)
        return encode_json(found)

    reranker = await charge_reranker(state, caller, body.reranker)
    # A reranker may be waited for: it must not keep a thread that other searches need.
    threads = state.pools.slow if reranker else state.pools.search
    return Response(await threads.run(run), media_type="application/json")


@router.get("/questions", summary="Suggest questions", responses=errors())
def questions(
    library: ReadLibrary,
    state: State,
    caller: Reader,
    collection: Annotated[str | None, Query(max_length=200)] = None,
    where: Annotated[str | None, Query(description="A JSON filter, or key=value.", max_length=10_000)] = None,
) -> r.SampleQuestions:
    """Returns a few topics of the documents, from different documents if there are several.

    If a model is connected, it writes questions once for the same documents, which are returned from then on.
    """
    found = library.documents(where=parse_filter(where), collection=collection, limit=40)
    may_write = state.settings.serve_questions and not state.answers.budget
    model = state.connections.default_model(caller.tenant) if may_write else None
    written = state.questions.find(caller.tenant, found, *model, library) if model else []
    return r.SampleQuestions(written or sample_questions(library, found))


@router.post(
    "/ask",
    summary="Ask a question",
    response_description="The answer; with `Accept: text/event-stream` its events as they happen",
    responses=events(examples.ANSWER_EVENTS) | errors(404, *MODEL_ERRORS, body=True),
)
async def ask(request: Request, body: AskBody, library: ReadLibrary, state: State, caller: Reader) -> Answer | Response:
    """Returns an answer with a footnote for each sentence. Counts against the month's answers."""
    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    headers = {"X-Quota-Limit": str(allowance.limit), "X-Quota-Remaining": str(allowance.limit - allowance.used)}
    stream = answer_events(state, caller.tenant, library, body.question, **body.options())
    if "text/event-stream" in request.headers.get("accept", ""):
        first = await state.pools.slow.run(next, stream)  # an invalid question is a status, not an event
        return open_event_stream(
            state.streams,
            caller,
            state.streams.pull(prepend(first, stream), caller),
            request_id_of(request.scope),
            write=lambda event: event_line(event.type, event),
            headers=headers,
        )
    answer = await state.pools.slow.run(last_answer, stream)
    return SafeJson(answer, headers=headers)


def check_reranker(wanted: str | None, settings: Settings) -> str:
    """Return the reranker of a search: the one asked for, if the server offers it, or the server's own."""
    offered = ("", "late", LLM, settings.reranker, *(("onnx",) if settings.rerank_model_dir else ()))
    if wanted is not None and wanted not in offered:
        known = ", ".join(filter(None, dict.fromkeys(offered)))
        raise OptionError(f"the server does not offer this reranker; it offers {known}")
    chosen = settings.reranker if wanted is None else wanted
    return "" if chosen == NO_RERANKER else chosen


async def charge_reranker(state: ServerState, caller: Caller, wanted: str | None = None) -> str:
    """Return the reranker of a search, and count one answer if a language model reranks."""
    reranker = check_reranker(wanted, state.settings)
    if reranker == LLM:
        await state.pools.short.run(state.answers.take, caller.tenant)
    return reranker


def answer_events(
    state: ServerState, tenant: str, library: Library, question: str, **options: object
) -> Iterator[Event]:
    """Answer a question as events, counted in the metrics. A failed answer is not counted against the month's."""
    return _count_events(state, tenant, library, question, KEY.get(), options)


def _count_events(
    state: ServerState, tenant: str, library: Library, question: str, key: str, options: dict[str, Any]
) -> Iterator[Event]:
    try:
        options |= state.connections.use(library, tenant, options.pop("model", None))
        for event in library.ask_stream(question, **options):
            if event.answer is not None:
                state.metrics.count_answer(event.answer)
                state.answers.spend(key, event.answer.usage)
            if event.type == "error":
                state.answers.refund(tenant)
            yield event
    except Exception:
        state.answers.refund(tenant)
        raise
