"""Routes that other systems of this kind have, so that their clients and curl lines work as they are."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from footnotes.answer import last_answer
from footnotes.engine import Library
from footnotes.errors import NotFound, QueryEmpty, ServerBusy
from footnotes.serve import replies as r
from footnotes.serve.answers import SafeJson, error_body
from footnotes.serve.gate import request_id_of
from footnotes.serve.jobs import ServerJob
from footnotes.serve.openapi import MODEL_ERRORS, errors
from footnotes.serve.quota import Allowance
from footnotes.serve.routes.documents import FORM_BODY, uploaded
from footnotes.serve.routes.finding import charged_reranker, counted
from footnotes.serve.state import Books, Reader, ServerState, State, WritableBooks, Writer
from footnotes.serve.strict import StrictRoute
from footnotes.types import Answer, Document, Hit, SearchResult
from footnotes.wire import to_json

router = APIRouter(tags=["compatibility"], route_class=StrictRoute)
SIMILARITY, TOP, MOST = 0.25, 5, 10
WAIT_SECONDS = 60.0


class IndexBody(BaseModel):
    model_config = ConfigDict(extra="ignore")

    filename: str = Field(min_length=1, max_length=1_000, examples=["notes.md"])
    content: str = Field(examples=["The bridge was built in 1974."])
    metadata: dict[str, Any] | None = Field(None, examples=[{"author": "Ada"}])


class RagSearchBody(BaseModel):
    model_config = ConfigDict(extra="ignore")

    query: str = Field(examples=["when was the bridge built"])
    limit: int = Field(TOP, ge=1, le=100, examples=[5])


# ── /rag

_TAKEN_IN = (404, 409, 501, 502, 504, 507)


@router.post("/rag/index", summary="Index a text and wait for it", responses=errors(*_TAKEN_IN, body=True))
async def rag_index(body: IndexBody, request: Request, state: State, caller: Writer) -> r.RagIndexed:
    job = await state.pools.short.run(
        accept_text, state, caller.tenant, body.filename, body.content, body.metadata, collection=None
    )
    return _indexed(await _settled(state, job, request))


def accept_text(
    state: ServerState,
    tenant: str,
    filename: str,
    content: str,
    metadata: dict[str, Any] | None,
    collection: str | None,
) -> ServerJob:
    """Queue a text."""
    held = io.BytesIO(content.encode("utf-8", "replace"))
    return state.intake.accept_file(tenant, held, filename=filename, collection=collection, metadata=metadata)


async def indexed(state: ServerState, job: ServerJob) -> r.RagIndexed:
    """Wait for a text; `{id, status: indexed | deduplicated, chunks}`."""
    return _indexed(await state.intake.settled(job, WAIT_SECONDS))


async def _settled(state: ServerState, job: ServerJob, request: Request) -> ServerJob:
    """The job when it is done; whoever hangs up is not waited for. No thread waits with it."""
    return await state.intake.settled(job, WAIT_SECONDS, request.is_disconnected)


def _indexed(job: ServerJob) -> r.RagIndexed:
    if job.error is not None:
        from footnotes.errors import DocumentError, all_errors

        kind = next((kind for kind in all_errors() if kind.code == job.error.code), DocumentError)
        raise kind(job.error.message, remedy=job.error.remedy)
    if job.state != "ready":
        raise ServerBusy(f"the document waits as job {job.id}", remedy=f"Look at /v1/jobs/{job.id}.")
    (row, *_) = job.result
    return r.RagIndexed(str(row.document_id), "deduplicated" if row.status == "deduplicated" else "indexed", row.chunks)


@router.post("/rag/search", summary="Search; at most one chunk a document", responses=errors(body=True))
async def rag_search(body: RagSearchBody, library: Books, state: State, caller: Reader) -> r.RagFound:
    await charged_reranker(state, caller)
    found = await state.pools.search.run(library.search, body.query, limit=body.limit, per_document=1)
    state.metrics.searched(found)
    return r.RagFound(body.query, [_rag_hit(hit) for hit in found.hits])


def _rag_hit(hit: Hit) -> r.RagHit:
    lexical, dense = hit.scores.lexical, hit.scores.dense
    return r.RagHit(
        id=hit.document_id,
        chunk_id=hit.chunk_id,
        filename=hit.filename,
        content=hit.text,
        metadata=hit.metadata,
        chunk_index=hit.index,
        rrf_score=hit.scores.fused,
        vector_score=dense.score if dense else None,
        text_score=lexical.score if lexical else None,
    )


@router.get("/rag/documents", summary="List documents", responses=errors())
def rag_documents(library: Books) -> r.RagDocuments:
    return r.RagDocuments([_rag_document(document) for document in library.documents(limit=10_000)])


def _rag_document(document: Document) -> r.RagDocument:
    return r.RagDocument(**{field.name: getattr(document, field.name) for field in fields(r.RagDocument)})


@router.delete("/rag/documents/{document_id}", summary="Delete a document", responses=errors(404, 507))
def rag_delete(document_id: str, library: WritableBooks, state: State, caller: Writer) -> r.RagDeleted:
    found = library.document(document_id).id
    state.intake.delete(caller.tenant, library, [found])
    return r.RagDeleted(document_id)


@router.post("/rag/admin/reindex", summary="Reindex everything and wait for it", responses=errors(*_TAKEN_IN))
async def rag_reindex(request: Request, state: State, library: WritableBooks, caller: Writer) -> r.RagReindexed:
    count = await _reindexed(request, state, library, caller.tenant, None)
    return r.RagReindexed(count)


async def _reindexed(
    request: Request, state: ServerState, library: Library, tenant: str, collection: str | None
) -> int:
    """Reindex, wait, and say how many documents there are in what was meant."""
    job = await state.pools.short.run(state.intake.accept_reindex, tenant, {"collection": collection})
    done = await _settled(state, job, request)
    if done.error is not None or done.state != "ready":
        _indexed(done)
    return len(await state.pools.short.run(library.documents, collection=collection))


@router.post("/subjects/{subject}/reindex", summary="Reindex a collection", responses=errors(*_TAKEN_IN))
async def subject_reindex(
    subject: str, request: Request, state: State, library: WritableBooks, caller: Writer
) -> r.SubjectReindexed:
    if subject not in {row["name"] for row in await state.pools.short.run(library.collections)}:
        raise NotFound(f"there is no subject {subject[:60]!r}", remedy="GET /v1/collections lists them.")
    count = await _reindexed(request, state, library, caller.tenant, subject)
    return r.SubjectReindexed(True, count)


# ── /api


@router.post(
    "/api/upload",
    openapi_extra={"requestBody": FORM_BODY},
    summary="Upload a file and wait for it",
    responses=errors(*_TAKEN_IN, body=True),
)
async def api_upload(request: Request, state: State, caller: Writer) -> r.ApiUploaded:
    jobs = await uploaded(request, state, caller.tenant)
    rows = []
    for job in jobs:
        done = await _settled(state, job, request)
        rows.append(r.ApiDocument(**to_json(_indexed(done)), filename=done.name))
    return r.ApiUploaded(**to_json(rows[0]), doc_id=rows[0].id, documents=rows)


@router.get("/api/search", summary="Search, or with rag=true an answer", responses=errors(400, *MODEL_ERRORS))
async def api_search(
    request: Request,
    library: Books,
    state: State,
    caller: Reader,
    q: Annotated[str, Query(max_length=100_000)] = "",
    rag: bool = False,
    limit: Annotated[int, Query(ge=1, le=MOST)] = TOP,
) -> r.ApiFound | r.ApiAsked | SafeJson:
    if not q.strip():
        return SafeJson(error_body(QueryEmpty("q is empty"), request_id_of(request.scope)), 400)
    if not rag:
        await charged_reranker(state, caller)
        found = await state.pools.search.run(library.search, q, limit=limit, per_document=limit)
        state.metrics.searched(found)
        return r.ApiFound([_api_hit(hit, hit.score) for hit in found.hits])
    allowance = await state.pools.short.run(state.answers.take, caller.tenant)
    near = await state.pools.search.run(library.search, q, limit=limit, per_document=limit, mode="dense")
    answer = await state.pools.slow.run(last_answer, counted(library.ask_stream(q, passages=limit), state))
    return r.ApiAsked([], _rag_answer(q, answer, near, allowance))


def _rag_answer(query: str, answer: Answer, near: SearchResult, allowance: Allowance) -> r.ApiAnswer:
    similar = ((hit, hit.scores.dense.score) for hit in near.hits if hit.scores.dense)
    return r.ApiAnswer(
        query=query,
        final_answer=answer.answer,
        model=answer.model,
        token_usage=r.OpenAIUsage(answer.usage.prompt_tokens, answer.usage.completion_tokens),
        retrieved_chunks=[_api_hit(hit, score) for hit, score in similar if score >= SIMILARITY],
        final_prompt=answer.prompt,
        agent_steps=answer.steps,
        debug_logs=answer.log,
        rateLimit=allowance.rate_limit(),
    )


def _api_hit(hit: Hit, similarity: float) -> r.ApiHit:
    return r.ApiHit(hit.document_id, hit.filename, hit.chunk_id, hit.text, similarity, hit.start, hit.end)
