"""/api: routes of a search page with `?rag=true`, for clients written for it. Errors are flat there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from footnotes.answer import last_answer
from footnotes.answer.prompt import escape
from footnotes.errors import FootnotesError, QueryEmpty
from footnotes.server import replies as r
from footnotes.server.gate import request_id_of
from footnotes.server.openapi import MODEL_ERRORS, errors
from footnotes.server.quota import Allowance
from footnotes.server.responses import SafeJson, flat_error
from footnotes.server.routes.documents import FORM_BODY, accept_files
from footnotes.server.routes.finding import answer_events, charge_reranker
from footnotes.server.routes.rag import INGEST_ERRORS, TOP, indexing_result, wait_for_job
from footnotes.server.state import Reader, ReadLibrary, State, Writer
from footnotes.server.strict import StrictRoute
from footnotes.types import SEARCHED_FOR, Answer, Hit, Step

router = APIRouter(prefix="/api", tags=["compatibility"], route_class=StrictRoute)
MOST = 10
TOOL = "search_documents"
_BEGINNING = 200
"""A passage is in a prompt if this many of its characters are: its end may be merged with another passage."""


@router.post(
    "/upload",
    openapi_extra={"requestBody": FORM_BODY},
    summary="Upload files and wait for them",
    responses={207: {"description": "The result of each file"}, **errors(*INGEST_ERRORS, body=True, flat=True)},
)
async def api_upload(request: Request, state: State, caller: Writer) -> r.ApiUploaded | r.ApiOutcomes | Response:
    """Returns 200 for one file, or if all files succeed; 207 with a result for each file if one of several fails."""
    rows: list[r.ApiDocument | r.ApiFailure] = []
    for name, outcome in await accept_files(request, state, caller.tenant):
        try:
            if isinstance(outcome, FootnotesError):
                raise outcome
            done = indexing_result(await wait_for_job(state, outcome, request))
            rows.append(r.ApiDocument(done.id, done.status, done.chunks, name))
        except FootnotesError as error:
            rows.append(r.ApiFailure(name, error.message, error.code, error.remedy))
            failure = error
    good = [row for row in rows if isinstance(row, r.ApiDocument)]
    if len(good) == len(rows):
        first = good[0]
        return r.ApiUploaded(first.id, first.status, first.chunks, first.filename, first.id, good)
    if len(rows) == 1:
        raise failure
    return SafeJson(r.ApiOutcomes(rows), 207)


@router.get("/search", summary="Search, or answer with rag=true", responses=errors(400, *MODEL_ERRORS, flat=True))
async def api_search(
    request: Request,
    library: ReadLibrary,
    state: State,
    caller: Reader,
    q: Annotated[str, Query(max_length=100_000)] = "",
    rag: bool = False,
    limit: Annotated[int, Query(ge=1, le=MOST)] = TOP,
) -> r.ApiFound | r.ApiAsked | Response:
    if not q.strip():
        return SafeJson(flat_error(QueryEmpty("q is empty"), request_id_of(request.scope)), 400)
    if not rag:
        await charge_reranker(state, caller)
        found = await state.pools.search.run(library.search, q, limit=limit, per_document=limit)
        state.metrics.count_search(found)
        return r.ApiFound([_chunk(hit, hit.score) for hit in found.hits])
    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    events = answer_events(state, caller.tenant, library, q, passages=limit)
    answer = await state.pools.slow.run(last_answer, events)
    return r.ApiAsked([], _api_answer(q, limit, answer, allowance))


def _api_answer(query: str, limit: int, answer: Answer, allowance: Allowance) -> r.ApiAnswer:
    prompt = answer.prompt or _passages_text(answer)
    shown = [hit for hit in answer.hits if not answer.prompt or escape(hit.text.strip())[:_BEGINNING] in prompt]
    chunks = sorted((_chunk(hit, _similarity(hit)) for hit in shown), key=lambda chunk: -chunk.similarity)
    steps = tuple(_steps(query, limit, answer, chunks))
    return r.ApiAnswer(
        query=query,
        final_answer=answer.answer,
        model=answer.model,
        token_usage=r.OpenAIUsage(answer.usage.prompt_tokens, answer.usage.completion_tokens),
        retrieved_chunks=chunks,
        final_prompt=prompt,
        agent_steps=steps,
        debug_logs=list(_logs(answer, steps)),
        degraded=answer.degraded,
        rateLimit=allowance.rate_limit(),
    )


def _passages_text(answer: Answer) -> str:
    """Return the passages of an answer without a model, instead of its prompt."""
    passages = (f"[{number}] {hit.filename}\n{hit.text}" for number, hit in enumerate(answer.hits, start=1))
    return "\n\n".join((*passages, f"Question: {answer.question}"))


def _similarity(hit: Hit) -> float:
    """Return the cosine, or the score if there is none."""
    return hit.scores.dense.score if hit.scores.dense else hit.score


def _chunk(hit: Hit, similarity: float) -> r.ApiHit:
    return r.ApiHit(hit.document_id, hit.filename, hit.chunk_id, hit.text, similarity, hit.start, hit.end)


def _steps(query: str, limit: int, answer: Answer, chunks: list[r.ApiHit]) -> Iterator[Step]:
    """The steps of the answer, preceded by the search that every answer begins with."""
    if any(step.type == "action" for step in answer.steps):
        yield from answer.steps
        return
    spelled = [step.text.removeprefix(SEARCHED_FOR) for step in answer.steps if step.text.startswith(SEARCHED_FOR)]
    yield Step("thought", f"Look for passages that answer: {query}")
    yield Step("action", tool=TOOL, tool_input={"query": spelled[0] if spelled else query, "limit": limit})
    found: list[Any] = [{"chunk_id": one.chunk_id, "filename": one.filename} for one in chunks]
    yield Step("tool_result", f"{len(chunks)} passages", tool=TOOL, tool_output=found)
    yield from answer.steps


def _logs(answer: Answer, steps: tuple[Step, ...]) -> Iterator[str]:
    """Log lines `[ISO time] [KIND] text`: the steps with their times, then the rest of the answer's own log."""
    lines = [line.split(" ", 2) for line in answer.log]
    moment = lines[-1][0] if lines else ""
    known = {line[2]: line[0] for line in lines}
    for step in steps:
        text_of_step = step.text or f"{step.tool} {json.dumps(dict(step.tool_input or {}), ensure_ascii=False)}"
        yield f"[{known.pop(text_of_step, lines[0][0] if lines else moment)}] [{step.type.upper()}] {text_of_step}"
    yield from (f"[{when}] [INFO] {text}" for text, when in known.items())
