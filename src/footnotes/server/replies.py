"""The replies of routes that are not types of the library. `to_json` writes them, and /openapi.json describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from footnotes.answer.models.connect import FoundServer
from footnotes.server.connections import ConnectedModel
from footnotes.server.following import FollowedSource
from footnotes.server.jobs import ServerJob
from footnotes.server.keys import Key
from footnotes.server.quota import Allowance, RateLimit
from footnotes.types import (
    AnswerKind,
    BlockKind,
    Chunk,
    Citation,
    Conversation,
    DenseIndex,
    Document,
    DocumentStatus,
    ErrorInfo,
    Job,
    KeptTurn,
    Metadata,
    Step,
)

QuestionKind = Literal["question", "topic", "definition"]

# ── documents


@dataclass(frozen=True, slots=True)
class Documents:
    documents: list[Document]
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class Text:
    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunks:
    chunks: list[Chunk]
    total: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class Boxes:
    page: int
    width: int
    height: int
    boxes: list[tuple[float, float, float, float]]


@dataclass(frozen=True, slots=True)
class PageWords:
    page: int
    words: list[tuple[int, str, float, float, float, float]]


@dataclass(frozen=True, slots=True)
class ShownBlock:
    kind: BlockKind
    start: int
    end: int
    page: int | None
    level: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Blocks:
    blocks: list[ShownBlock]


@dataclass(frozen=True, slots=True)
class Place:
    start: int
    end: int
    page: int | None


@dataclass(frozen=True, slots=True)
class Places:
    places: list[Place]


@dataclass(frozen=True, slots=True)
class CatalogueRow:
    """A document in a list. `path` is its source; the last part is usually the name."""

    id: str
    filename: str
    path: str
    collection: str
    mime: str
    status: DocumentStatus
    pages: int | None
    bytes: int
    chunks: int
    created_at: str
    warnings: int
    tags: list[str]


@dataclass(frozen=True, slots=True)
class Catalogue:
    documents: list[CatalogueRow]
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A sample question: a question in a document, one of its topics, or something it defines.

    `document` is its title, or its name if it has none.
    """

    kind: QuestionKind
    topic: str
    document_id: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class SampleQuestions:
    questions: list[SampleQuestion]


@dataclass(frozen=True, slots=True)
class Deleted:
    deleted: list[str]


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    chunker: str | None
    chunker_options: Metadata | None
    system_prompt: str | None
    documents: int


@dataclass(frozen=True, slots=True)
class Collections:
    collections: list[Collection]


# ── models


@dataclass(frozen=True, slots=True)
class ConnectedModels:
    connections: list[ConnectedModel]
    may_connect: bool
    server_model: str
    providers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sources:
    sources: list[FollowedSource]
    kinds: list[str]
    may_follow: bool


@dataclass(frozen=True, slots=True)
class ListedModels:
    models: list[str]
    error: ErrorInfo | None


@dataclass(frozen=True, slots=True)
class FoundServers:
    servers: list[FoundServer]


# ── conversations


@dataclass(frozen=True, slots=True)
class Conversations:
    conversations: list[Conversation]
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class WholeConversation:
    conversation: Conversation
    turns: list[KeptTurn]


# ── jobs


@dataclass(frozen=True, slots=True)
class Accepted:
    jobs: list[ServerJob]


@dataclass(frozen=True, slots=True)
class Jobs:
    """Accepted jobs, newest first; the first page also has the `runs` of the command line."""

    jobs: list[ServerJob]
    next_offset: int | None
    runs: list[Job] = field(default_factory=list)


# ── the service


@dataclass(frozen=True, slots=True)
class Health:
    status: Literal["ok"]
    version: str


@dataclass(frozen=True, slots=True)
class Ready:
    status: Literal["ready", "not ready"]
    checks: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Generation:
    id: int
    state: str
    embedder: str


@dataclass(frozen=True, slots=True)
class Index:
    """The vector database that serves legs. Its address is not shown."""

    legs: tuple[str, ...]
    behind: int
    error: ErrorInfo | None


@dataclass(frozen=True, slots=True)
class Status:
    user: str
    ready: int
    chunks: int
    characters: int
    bytes: int
    by_status: Mapping[str, int]
    near_duplicates: int
    outdated: int
    waiting: int
    collections: list[Collection]
    embedder: str
    configured_embedder: str
    dimensions: int | None
    generation: int | None
    generations: list[Generation]
    store: str
    index: Index | None
    dense_index: DenseIndex | None
    disk_bytes: int
    model: str
    reranker: str
    queue: int
    version: str
    scopes: list[str]
    keys_needed: bool
    keeps_conversations: bool
    recognises_text: bool
    """Whether pages without a text layer are read by OCR."""


@dataclass(frozen=True, slots=True)
class Storage:
    bytes: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Spending:
    """US dollars the key spent on models this month, and how many it may."""

    usd: float
    limit: float | None


@dataclass(frozen=True, slots=True)
class UsageReply:
    tenant: str
    answers: Allowance
    spending: Spending
    storage: Storage
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class NewKey(Key):
    key: str


@dataclass(frozen=True, slots=True)
class Keys:
    keys: list[Key]


# ── the dialects of others


@dataclass(frozen=True, slots=True)
class OpenAIUsage:
    prompt_tokens: int
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class OpenAIMessage:
    content: str
    citations: tuple[Citation, ...]
    kind: AnswerKind
    abstained: bool
    degraded: bool
    role: Literal["assistant"] = "assistant"
    refusal: None = None


@dataclass(frozen=True, slots=True)
class OpenAIChoice:
    message: OpenAIMessage
    finish_reason: Literal["stop", "length"]
    index: int = 0
    logprobs: None = None


@dataclass(frozen=True, slots=True)
class Completion:
    id: str
    created: int
    model: str
    choices: list[OpenAIChoice]
    usage: OpenAIUsage
    object: Literal["chat.completion"] = "chat.completion"


@dataclass(frozen=True, slots=True)
class Model:
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "footnotes"


@dataclass(frozen=True, slots=True)
class Models:
    data: list[Model]
    object: Literal["list"] = "list"


@dataclass(frozen=True, slots=True)
class Embedding:
    index: int
    embedding: list[float] | str
    object: Literal["embedding"] = "embedding"


@dataclass(frozen=True, slots=True)
class EmbeddingUsage:
    prompt_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Embeddings:
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


@dataclass(frozen=True, slots=True)
class RagIndexed:
    id: str
    status: Literal["indexed", "deduplicated"]
    chunks: int


@dataclass(frozen=True, slots=True)
class RagHit:
    id: str
    document_id: str
    filename: str
    content: str
    metadata: Metadata
    chunk_index: int
    rrf_score: float
    vector_score: float | None
    text_score: float | None
    vector_rank: int | None
    text_rank: int | None


@dataclass(frozen=True, slots=True)
class RagFound:
    query: str
    results: list[RagHit]


@dataclass(frozen=True, slots=True)
class RagDocument:
    """`ingestion_version` grows with every rebuild; the fingerprint identifies parser, chunker and model."""

    id: str
    filename: str
    source: str
    collection: str
    status: str
    chunks: int
    metadata: Metadata
    checksum: str
    embedding_model: str
    embedding_dim: int
    ingestion_version: int
    ingestion_fingerprint: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class RagDocuments:
    documents: list[RagDocument]
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class RagDeleted:
    id: str
    status: Literal["deleted"] = "deleted"


@dataclass(frozen=True, slots=True)
class RagReindexed:
    documents: int
    status: Literal["reindexed"] = "reindexed"


@dataclass(frozen=True, slots=True)
class SubjectReindexed:
    ok: bool
    reindexed: int


@dataclass(frozen=True, slots=True)
class ApiDocument(RagIndexed):
    filename: str


@dataclass(frozen=True, slots=True)
class ApiUploaded(ApiDocument):
    doc_id: str
    documents: list[ApiDocument]


@dataclass(frozen=True, slots=True)
class ApiFailure:
    filename: str
    error: str
    code: str
    remedy: str
    status: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class ApiOutcomes:
    """The results of several files."""

    documents: list[ApiDocument | ApiFailure]


@dataclass(frozen=True, slots=True)
class ApiHit:
    doc_id: str
    filename: str
    chunk_id: str
    text: str
    similarity: float
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    query: str
    final_answer: str
    model: str
    token_usage: OpenAIUsage
    retrieved_chunks: list[ApiHit]
    final_prompt: str
    agent_steps: tuple[Step, ...]
    debug_logs: list[str]
    degraded: bool
    rateLimit: RateLimit  # noqa: N815 (the name that clients of other systems know)


@dataclass(frozen=True, slots=True)
class ApiFound:
    results: list[ApiHit]


@dataclass(frozen=True, slots=True)
class ApiAsked(ApiFound):
    rag: ApiAnswer
