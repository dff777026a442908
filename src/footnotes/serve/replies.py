"""What is answered, as /openapi.json describes it. Routes write their JSON themselves: the models cost no time.

A test compares what the server really answers with them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from footnotes.serve import examples
from footnotes.serve.models import ErrorBody, SearchMode

__all__ = ["Responses", "SearchMode", "events", "file_of", "replies"]
Json = dict[str, Any]
Responses = dict[int | str, dict[str, Any]]


class Reply(BaseModel):
    """Every field is named here: another one would be a mistake."""

    model_config = ConfigDict(extra="forbid")


# ── documents


class ErrorInfo(Reply):
    code: str
    message: str
    remedy: str


class Near(Reply):
    document_id: str
    filename: str
    similarity: float


class Document(Reply):
    document_id: str
    id: str
    collection: str
    filename: str
    source: str
    file_hash: str
    mime: str
    title: str
    status: str
    bytes: int
    characters: int
    pages: int | None
    chunks: int
    metadata: Json
    warnings: list[str]
    embedding_model: str
    embedding_dim: int
    ingestion_version: str
    version: int
    created_at: str
    updated_at: str
    error: ErrorInfo | None
    near_duplicate_of: Near | None


class Documents(Reply):
    documents: list[Document]
    next_offset: int | None


class Text(Reply):
    document_id: str
    start: int
    end: int
    text: str


class Chunk(Reply):
    id: str
    document_id: str
    index: int
    total: int
    start: int
    end: int
    text: str
    pages: list[int] | None
    headings: list[str]
    tokens: int
    prefix: str
    metadata: Json
    lines: list[int] | None
    language: Any = None


class Chunks(Reply):
    chunks: list[Chunk]
    total: int
    next_offset: int | None


class Boxes(Reply):
    page: int
    width: int
    height: int
    boxes: list[list[float]]


class Deleted(Reply):
    deleted: list[str]


class Collection(Reply):
    name: str
    chunker: str | None
    chunker_options: str | None
    system_prompt: str | None
    documents: int


class Collections(Reply):
    collections: list[Collection]


# ── jobs


class JobDocument(Reply):
    document_id: str | None
    status: str
    chunks: int
    path: str | None = None
    documents: int | None = None
    error: ErrorInfo | None = None
    warnings: list[str] = []
    near_duplicate_of: Near | None = None


class Job(Reply):
    id: str
    kind: Literal["upload", "url", "reindex"]
    name: str
    collection: str | None
    state: Literal["queued", "running", "ready", "failed"]
    stage: Literal["parsing", "embedding", "indexing"] | None
    done: int
    total: int
    document_id: str | None
    documents: list[JobDocument]
    error: ErrorInfo | None
    retryable: bool
    attempts: int
    created_at: str
    updated_at: str


class Accepted(Reply):
    jobs: list[Job]


class Jobs(Reply):
    jobs: list[Job]
    next_offset: int | None


# ── search and answers


class LegScore(Reply):
    rank: int | None
    score: float


class HitScores(Reply):
    lexical: LegScore | None
    dense: LegScore | None
    fused: float
    rerank: float | None
    boost: float
    reason: str


class Hit(Reply):
    chunk_id: str
    document_id: str
    filename: str
    title: str
    collection: str
    text: str
    start: int
    end: int
    pages: list[int] | None
    heading: str | None
    headings: list[str]
    lines: list[int] | None
    index: int
    total: int
    language: Any = None
    metadata: Json
    score: float
    scores: HitScores


class Leg(Reply):
    status: Literal["ok", "pending", "failed", "skipped"]
    reason: str | None
    ms: float


class Found(Reply):
    query: str
    hits: list[Hit]
    legs: dict[str, Leg]
    degraded: bool
    took_ms: float


class Citation(Reply):
    marker: int
    answer_span: list[int]
    document_id: str
    filename: str
    page: int | None
    start: int
    end: int
    quote: str
    support: float
    lines: list[int] | None
    path: str
    commit: str


class Usage(Reply):
    prompt_tokens: int
    completion_tokens: int
    model_calls: int


class Step(Reply):
    type: Literal["thought", "action", "tool_result"]
    text: str
    tool: str | None
    tool_input: Json | None
    tool_output: Any = None


class Answer(Reply):
    question: str
    answer: str
    kind: Literal["answer", "passages", "nothing"]
    abstained: bool
    citations: list[Citation]
    unsupported: list[list[int]]
    uncertain: list[list[int]]
    hits: list[Hit]
    model: str
    usage: Usage
    steps: list[Step]
    legs: dict[str, Leg]
    degraded: bool
    incomplete: bool
    ungrounded: bool
    prompt: str
    request_id: str
    log: list[str]
    took_ms: float


# ── the service


class Health(Reply):
    status: Literal["ok"]
    version: str


class Ready(Reply):
    status: Literal["ready", "not ready"]
    checks: dict[str, bool]


class Generation(Reply):
    id: int
    state: str
    embedder: str


class Index(Reply):
    """The vector database that serves legs. Its address is the server's own business."""

    legs: list[str]
    behind: int
    error: ErrorInfo | None


class Status(Reply):
    user: str
    ready: int
    chunks: int
    characters: int
    bytes: int
    by_status: dict[str, int]
    near_duplicates: int
    waiting: int
    collections: list[Collection]
    embedder: str
    configured_embedder: str
    dimensions: int | None
    generation: int | None
    generations: list[Generation]
    store: str
    index: Index | None
    disk_bytes: int
    model: str
    reranker: str
    queue: int
    version: str
    scopes: list[str]
    keys_needed: bool


class AnswersLeft(Reply):
    limit: int
    remaining: int
    resetDate: str  # noqa: N815 (the name that clients of other systems know)
    used: int


class Storage(Reply):
    bytes: int
    limit: int | None


class UsageReply(Reply):
    tenant: str
    answers: AnswersLeft
    storage: Storage
    documents: int
    chunks: int


class Key(Reply):
    id: str
    name: str
    tenant: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    live: bool


class NewKey(Key):
    key: str


class Keys(Reply):
    keys: list[Key]


# ── the dialects of others


class OpenAIUsage(Reply):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class OpenAIMessage(Reply):
    role: Literal["assistant"]
    content: str
    refusal: None
    citations: list[Citation]
    kind: Literal["answer", "passages", "nothing"]
    abstained: bool
    degraded: bool


class OpenAIChoice(Reply):
    index: int
    message: OpenAIMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None


class Completion(Reply):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[OpenAIChoice]
    usage: OpenAIUsage


class Model(Reply):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(Reply):
    object: Literal["list"]
    data: list[Model]


class Embedding(Reply):
    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingUsage(Reply):
    prompt_tokens: int
    total_tokens: int


class Embeddings(Reply):
    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


class RagIndexed(Reply):
    id: str
    status: Literal["indexed", "deduplicated"]
    chunks: int


class RagHit(Reply):
    id: str
    chunk_id: str
    filename: str
    content: str
    metadata: Json
    chunk_index: int
    rrf_score: float
    vector_score: float | None
    text_score: float | None


class RagFound(Reply):
    query: str
    results: list[RagHit]


class RagDocument(Reply):
    id: str
    filename: str
    status: str
    chunks: int
    metadata: Json
    created_at: str


class RagDocuments(Reply):
    documents: list[RagDocument]


class RagDeleted(Reply):
    id: str
    status: Literal["deleted"]


class RagReindexed(Reply):
    status: Literal["reindexed"]
    documents: int


class SubjectReindexed(Reply):
    ok: bool
    reindexed: int


class ApiDocument(RagIndexed):
    filename: str


class ApiUploaded(ApiDocument):
    doc_id: str
    documents: list[ApiDocument]


class ApiHit(Reply):
    doc_id: str
    filename: str
    chunk_id: str
    text: str
    similarity: float
    start_offset: int
    end_offset: int


class ApiRateLimit(Reply):
    limit: int
    remaining: int
    resetDate: str  # noqa: N815


class ApiStep(Reply):
    type: str
    text: str
    tool: str | None
    tool_output: Any = None


class ApiAnswer(Reply):
    query: str
    final_answer: str
    model: str
    token_usage: OpenAIUsage
    retrieved_chunks: list[ApiHit]
    final_prompt: str
    agent_steps: list[ApiStep]
    debug_logs: list[str]
    rateLimit: ApiRateLimit  # noqa: N815


class ApiFound(Reply):
    results: list[ApiHit]
    rag: ApiAnswer | None = None


# ── how a route says what it answers

_ERRORS = {
    400: "The body cannot be read",
    401: "No valid key",
    403: "The key may not do this, or the page may not call",
    404: "There is no such thing",
    408: "The body took too long",
    409: "Refused as things are",
    413: "Too large, or more than the tenant may keep",
    422: "The request is not understood",
    429: "Too many requests, or the month's answers are used up",
    431: "The headers or the address are too long",
    500: "The server failed",
    501: "An extra is not installed",
    502: "A model behind a network failed",
    503: "Not now; see Retry-After",
    504: "A model behind a network took too long",
    507: "There is no space left",
}
_ALWAYS = (401, 403, 422, 429, 431, 500, 503)
_BODY = (400, 408, 413)


def replies(
    model: type[BaseModel], *errors: int, status: int = 200, said: str = "Done", body: bool = False, **more: Any
) -> Responses:
    """The responses of a route: its model with an example, and every error it may answer."""
    example = examples.REPLIES[model.__name__]
    good: dict[str, Any] = {"model": model, "description": said, "content": {"application/json": {"example": example}}}
    good["content"].update(more)
    return {status: good, **_failures(*errors, *(_BODY if body else ()))}


def events(example: str, *errors: int, said: str) -> Responses:
    """The responses of a route that answers with server-sent events alone."""
    return {200: {"description": said, "content": event_content(example)}, **_failures(*errors)}


def event_content(example: str) -> dict[str, Any]:
    text = {"type": "string"}
    event = {"type": "object", "properties": {"event": text, "data": text}, "required": ["data"]}
    return {"text/event-stream": {"schema": event, "example": example}}


def file_of(kind: str, said: str, *errors: int, example: str = "") -> Responses:
    """The responses of a route that answers with a file."""
    schema = {"type": "string"} if kind.startswith("text/") else {"type": "string", "format": "binary"}
    content = {kind: {"schema": schema, "example": example or "(bytes)"}}
    return {200: {"description": said, "content": content}, **_failures(*errors)}


def open_replies(model: type[BaseModel], *more: int) -> Responses:
    """The responses of a route that needs no key."""
    good = {"model": model, "content": {"application/json": {"example": examples.REPLIES[model.__name__]}}}
    return {200: {"description": "Yes", **good}, **_errors((403, 431, 500))} | (
        {status: {"description": "Not now", **good} for status in more}
    )


def _failures(*more: int) -> Responses:
    return _errors(sorted({*_ALWAYS, *more}))


def _errors(statuses: Any) -> Responses:
    return {
        status: {
            "model": ErrorBody,
            "description": _ERRORS[status],
            "content": {"application/json": {"example": examples.error(status)}},
        }
        for status in statuses
    }
