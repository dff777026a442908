"""/rag and /subjects: routes of services that keep a RAG index in PostgreSQL, for clients written for them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field

from footnotes.errors import DocumentError, NotFound, ServerBusy, all_errors
from footnotes.library import Library
from footnotes.server import replies as r
from footnotes.server.jobs import ServerJob
from footnotes.server.models import Body, Filter, Metadata, Name, Weights
from footnotes.server.openapi import errors
from footnotes.server.routes.finding import charge_reranker
from footnotes.server.state import Admin, Reader, ReadLibrary, ServerState, State, WriteLibrary, Writer
from footnotes.server.strict import StrictRoute
from footnotes.types import Document, Hit

router = APIRouter(tags=["compatibility"], route_class=StrictRoute)
TOP = 5
WAIT_SECONDS = 60.0
INGEST_ERRORS = (404, 409, 501, 502, 504, 507)
_SIZES = {"rule_based": ("tokens", "overlap"), "semantic": ("maximum", "")}
"""The options for size and overlap of each chunker; `semantic` has no overlap."""


class IndexBody(Body):
    filename: str = Field(min_length=1, max_length=1_000, examples=["notes.md"])
    content: str = Field(examples=["The bridge was built in 1974."])
    metadata: Metadata | None = Field(None, examples=[{"author": "Ada"}])
    method: Literal["rule_based", "semantic"] | None = None
    chunk_size: int | None = Field(None, ge=16, le=8_192, description="Tokens of a chunk.")
    chunk_overlap: int | None = Field(None, ge=0, le=4_096, description="Tokens that rule_based chunks share.")
    collection: Name | None = None

    def chunking(self) -> dict[str, object]:
        """The chunker, and those of its options that were given."""
        if self.method is None and self.chunk_size is None and self.chunk_overlap is None:
            return {}
        method = self.method or "rule_based"
        given = zip(_SIZES[method], (self.chunk_size, self.chunk_overlap), strict=True)
        return {"chunker": method, "chunker_options": {name: size for name, size in given if name and size is not None}}


class RagSearchBody(Body):
    query: str = Field(examples=["when was the bridge built"])
    limit: int = Field(TOP, ge=1, le=100, examples=[5])
    fusion: Literal["adaptive", "alpha", "rrf"] = "rrf"
    rrf_k: int | None = Field(None, ge=1, le=10_000, description="60, unless another is given.")
    weights: Weights | None = Field(None, description="Of the lexical and the dense leg in rrf.")
    missing_rank: int | None = Field(None, ge=0, le=1_000_000, description="The rank of a hit missing in a leg.")
    per_document: int = Field(1, ge=1, le=100)
    where: Filter | None = None
    collection: Name | None = None

    def options(self) -> dict[str, Any]:
        """Return the keywords of `Library.search`. Settings of the server do not change `rrf_score`."""
        if self.fusion != "rrf":
            return dict(self)
        return {**dict(self), "rrf_k": self.rrf_k or 60, "weights": self.weights or (1.0, 1.0)}


@router.post("/rag/index", summary="Index a text and wait for it", responses=errors(*INGEST_ERRORS, body=True))
async def rag_index(body: IndexBody, request: Request, state: State, caller: Writer) -> r.RagIndexed:
    """Sending the same content again updates its filename and metadata; the status is `deduplicated`."""

    def accept() -> ServerJob:
        named = {"metadata": body.metadata, "collection": body.collection, **body.chunking()}
        return accept_text(state, caller.tenant, body.filename, body.content, **named, rename=True)

    return indexing_result(await wait_for_job(state, await state.pools.short.run(accept), request))


def accept_text(state: ServerState, tenant: str, filename: str, content: str, **options: Any) -> ServerJob:
    """Queue a text."""
    held = io.BytesIO(content.encode("utf-8", "replace"))
    return state.intake.accept_file(tenant, held, filename=filename, **options)


async def wait_for_job(state: ServerState, job: ServerJob, request: Request | None = None) -> ServerJob:
    """Wait until a job is done or the caller hangs up; return it. Needs no thread."""
    return await state.intake.wait_for(job, WAIT_SECONDS, request.is_disconnected if request else None)


def indexing_result(job: ServerJob) -> r.RagIndexed:
    """Return the result of a job that indexed a text; raise its error."""
    if job.error is not None:
        kind = next((kind for kind in all_errors() if kind.code == job.error.code), DocumentError)
        raise kind(job.error.message, remedy=job.error.remedy)
    if job.state != "ready":
        raise ServerBusy(f"the document is pending as job {job.id}", remedy=f"See /v1/jobs/{job.id}.")
    (row, *_) = job.result
    return r.RagIndexed(str(row.document_id), "deduplicated" if row.status == "deduplicated" else "indexed", row.chunks)


@router.post("/rag/search", summary="Search by reciprocal rank fusion", responses=errors(404, body=True))
async def rag_search(body: RagSearchBody, library: ReadLibrary, state: State, caller: Reader) -> r.RagFound:
    """`rrf_score` is Σ weight / (rrf_k + rank) over the legs, unless the request names another fusion."""
    here = bool(await charge_reranker(state, caller))
    found = await state.pools.search.run(state.searches.search, library, caller.tenant, body.options(), here=here)
    state.metrics.count_search(found)
    return r.RagFound(body.query, [_hit(hit) for hit in found.hits])


def _hit(hit: Hit) -> r.RagHit:
    lexical, dense = hit.scores.lexical, hit.scores.dense
    return r.RagHit(
        id=hit.chunk_id,
        document_id=hit.document_id,
        filename=hit.filename,
        content=hit.text,
        metadata=hit.metadata,
        chunk_index=hit.index,
        rrf_score=hit.scores.fused,
        vector_score=dense.score if dense else None,
        text_score=lexical.score if lexical else None,
        vector_rank=dense.rank if dense else None,
        text_rank=lexical.rank if lexical else None,
    )


# ── documents


@router.get("/rag/documents", summary="List documents", responses=errors())
def rag_documents(
    library: ReadLibrary,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    collection: Annotated[str | None, Query(max_length=200)] = None,
) -> r.RagDocuments:
    """In the order they were added. `next_offset` is null on the last page."""
    found = library.documents(collection=collection, limit=limit + 1, offset=offset)
    generation = _generation(library)
    more = offset + limit if len(found) > limit else None
    return r.RagDocuments([_document(document, generation) for document in found[:limit]], more)


@router.get("/rag/documents/{document_id}", summary="One document", responses=errors(404))
def rag_document(document_id: str, library: ReadLibrary) -> r.RagDocument:
    return _document(library.document(document_id), _generation(library))


def _generation(library: Library) -> int:
    return library.generation or 1


def _document(document: Document, generation: int) -> r.RagDocument:
    return r.RagDocument(
        id=document.id,
        filename=document.filename,
        source=document.source,
        collection=document.collection,
        status=document.status,
        chunks=document.chunks,
        metadata=document.metadata,
        checksum=document.file_hash,
        embedding_model=document.embedding_model,
        embedding_dim=document.embedding_dim,
        ingestion_version=generation + document.version - 1,
        ingestion_fingerprint=document.ingestion_version,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


@router.delete("/rag/documents/{document_id}", summary="Delete a document", responses=errors(404, 507))
def rag_delete(document_id: str, library: WriteLibrary, state: State, caller: Writer) -> r.RagDeleted:
    found = library.document(document_id).id
    state.intake.delete(caller.tenant, library, [found])
    return r.RagDeleted(document_id)


# ── again


@router.post(
    "/rag/documents/{document_id}/reindex", summary="Rebuild a document and wait", responses=errors(*INGEST_ERRORS)
)
async def rag_document_reindex(
    document_id: str, request: Request, state: State, library: WriteLibrary, caller: Writer
) -> r.RagIndexed:
    found = await state.pools.short.run(library.document, document_id)
    await _reindex_and_wait(request, state, caller.tenant, {"documents": [found.id]})
    again = await state.pools.short.run(library.document, document_id)
    return r.RagIndexed(again.id, "indexed", again.chunks)


@router.post("/rag/admin/reindex", summary="Rebuild outdated documents and wait", responses=errors(*INGEST_ERRORS))
async def rag_reindex(
    request: Request,
    state: State,
    caller: Admin,
    force: Annotated[bool, Query(description="Also those that are up to date.")] = False,
) -> r.RagReindexed:
    """Rebuilds documents made by an older parser, another chunker or another model; with `force`, all documents."""
    done = await _reindex_and_wait(request, state, caller.tenant, {} if force else {"outdated": True})
    return r.RagReindexed(done)


@router.post("/subjects/{subject}/reindex", summary="Reindex a collection", responses=errors(*INGEST_ERRORS))
async def subject_reindex(
    subject: str, request: Request, state: State, library: WriteLibrary, caller: Writer
) -> r.SubjectReindexed:
    if subject not in {row["name"] for row in await state.pools.short.run(library.collections)}:
        raise NotFound(f"there is no subject {subject[:60]!r}", remedy="GET /v1/collections lists them.")
    await _reindex_and_wait(request, state, caller.tenant, {"collection": subject})
    return r.SubjectReindexed(True, len(await state.pools.short.run(library.documents, collection=subject)))


async def _reindex_and_wait(request: Request, state: ServerState, tenant: str, options: Mapping[str, object]) -> int:
    """Reindex documents, wait, and return how many there were."""
    job = await state.pools.short.run(state.intake.accept_reindex, tenant, options)
    done = await wait_for_job(state, job, request)
    if done.error is not None or done.state != "ready":
        indexing_result(done)
    return sum(row.documents or 0 for row in done.result)
