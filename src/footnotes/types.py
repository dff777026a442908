"""The data types of Footnotes: frozen, without behaviour.

Every span is a pair of character offsets into the document's *canonical text*: the text that a parser extracted
and the store holds once. Pages count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
else:
    JsonValue = Any  # a recursive alias has no schema
Metadata: TypeAlias = Mapping[str, JsonValue]

BlockKind = Literal["heading", "paragraph", "list", "table", "code", "quote"]
DocumentStatus = Literal["queued", "parsing", "chunking", "embedding", "indexing", "ready", "failed"]
TAKEN_IN: frozenset[DocumentStatus] = frozenset({"ready", "indexing"})
"""Statuses of completely written documents; for one that is `indexing`, an index has yet to catch up."""
AddStatus = Literal["ready", "indexing", "deduplicated", "replaced", "skipped", "failed"]
SyncStatus = Literal["added", "changed", "renamed", "deleted", "unchanged", "skipped", "failed"]
JobKind = Literal["add", "file", "reindex"]
LegStatus = Literal["ok", "skipped", "failed", "pending"]
Mode = Literal["hybrid", "lexical", "dense"]
Role = Literal["query", "passage"]


# ── parse ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Block:
    """A typed span of canonical text. `headings` is the path above it; for a heading it includes the heading itself."""

    kind: BlockKind
    start: int
    end: int
    page: int | None = None
    level: int = 0
    headings: tuple[str, ...] = ()
    attributes: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """A bounded run of canonical text with its blocks. Parts follow each other without gap.

    Parsers yield parts, so documents of any size need little memory. `text` begins at `start` of the canonical text;
    the spans of `blocks` are absolute. Chunks never cross a part. The first part has the document's `title` if the
    file states one that is better than its first heading.
    """

    start: int
    text: str
    blocks: tuple[Block, ...]
    title: str | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Report:
    """The results and omissions of extraction. A parser yields exactly one, after its parts."""

    parser: str
    mime: str
    characters: int
    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()
    title: str | None = None
    metadata: Metadata = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


# ── chunk ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that a chunker proposes. The pipeline adds headings, pages and identity, and tokens if they are unknown.

    `parts` are spans to embed separately; the vector of the piece is their mean. Without parts, the whole piece is
    embedded. Overlapping pieces share parts, and each part is embedded once.
    """

    start: int
    end: int
    prefix: str = ""
    metadata: Metadata = field(default_factory=dict)
    tokens: int | None = None
    parts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span to retrieve. `prefix` is embedded and indexed with the text, and never mixed into it.

    `language` defaults to that of the document.
    """

    id: str
    document_id: str
    index: int
    total: int
    start: int
    end: int
    text: str
    pages: tuple[int, int] | None
    headings: tuple[str, ...]
    tokens: int
    prefix: str
    metadata: Metadata
    lines: tuple[int, int] | None = None
    language: JsonValue = None


# ── store ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Document:
    """A source file as recorded in the store."""

    id: str
    collection: str
    filename: str
    source: str
    file_hash: str
    mime: str
    title: str
    status: DocumentStatus
    bytes: int
    characters: int
    pages: int | None
    chunks: int
    metadata: Metadata
    warnings: tuple[str, ...]
    embedding_model: str
    embedding_dim: int
    ingestion_version: str
    version: int
    created_at: str
    updated_at: str
    error: ErrorInfo | None = None
    near_duplicate_of: NearDuplicate | None = None

    @property
    def document_id(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as data, as every output shows it."""

    code: str
    message: str
    remedy: str


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "glob", "exists"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A test on a field. A key that is not a built-in field names metadata."""

    key: str
    operator: Operator
    value: JsonValue = None


@dataclass(frozen=True, slots=True)
class AllOf:
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    filter: Filter


Filter: TypeAlias = "Condition | AllOf | AnyOf | Not"


# ── retrieve ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LegScore:
    """The place of a chunk in one leg. `rank` counts from 1; it is None if the leg only scored the chunk."""

    rank: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each leg, the fused score, and the boost for a code name, with its reason."""

    lexical: LegScore | None
    dense: LegScore | None
    fused: float
    rerank: float | None = None
    boost: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk with its scores. Higher scores are better, everywhere."""

    chunk_id: str
    document_id: str
    filename: str
    title: str
    collection: str
    text: str
    start: int
    end: int
    pages: tuple[int, int] | None
    headings: tuple[str, ...]
    index: int
    metadata: Metadata
    score: float
    scores: Scores
    total: int = 0
    lines: tuple[int, int] | None = None

    @property
    def heading(self) -> str | None:
        return self.headings[-1] if self.headings else None

    @property
    def language(self) -> JsonValue:
        return self.metadata.get("language")


@dataclass(frozen=True, slots=True)
class Leg:
    """The outcome of one leg of a search."""

    status: LegStatus
    reason: str | None = None
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    hits: tuple[Hit, ...]
    legs: Mapping[str, Leg]
    degraded: bool
    took_ms: float
    expanded: tuple[str, ...] = ()


# ── answer ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Citation:
    """A footnote: `quote` is exactly the canonical text from `start` to `end`.

    `answer_span` is the span of the answer that the footnote supports; `support` is the strength, from 0 to 1. `lines`
    are the lines of the quote, if known. A source file of a repository has its `path` and its `commit`.
    """

    marker: int
    answer_span: tuple[int, int]
    document_id: str
    filename: str
    page: int | None
    start: int
    end: int
    quote: str
    support: float = 1.0
    lines: tuple[int, int] | None = None
    path: str = ""
    commit: str = ""


SEARCHED_FOR = "Searched for: "
"""The beginning of a step that names another spelling of the question."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way to an answer."""

    type: Literal["thought", "action", "tool_result"]
    text: str = ""
    tool: str | None = None
    tool_input: Metadata | None = None
    tool_output: JsonValue = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that models read and wrote for an answer, and the cost if their prices are known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    cost_usd: float | None = None


AnswerKind = Literal["answer", "passages", "nothing"]


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The target of footnotes: a document by its id, its section and page, and the checksum of its file."""

    id: str
    filename: str
    section: str | None
    page: int | None
    checksum: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its proof. `answer` has no markers; each citation names the span it supports.

    `kind` is `answer`; `passages` if no sentence answers for certain and the nearest passages are shown instead; or
    `nothing`. The last two have `abstained`. `unsupported` are spans that nothing in the documents supports,
    `uncertain` those that pass only some of the checks. `incomplete` means that the model stopped early, `ungrounded`
    that no document was read. `prompt` is the last input of the model, `log` the steps with their times.
    """

    question: str
    answer: str
    abstained: bool
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    model: str
    usage: Usage
    steps: tuple[Step, ...]
    legs: Mapping[str, Leg]
    degraded: bool
    unsupported: tuple[tuple[int, int], ...] = ()
    incomplete: bool = False
    took_ms: float = 0.0
    ungrounded: bool = False
    prompt: str = ""
    request_id: str = ""
    log: tuple[str, ...] = ()
    kind: AnswerKind = "answer"
    uncertain: tuple[tuple[int, int], ...] = ()
    sources: tuple[AnswerSource, ...] = ()

    def __str__(self) -> str:
        from footnotes.render import answer_as_text

        return answer_as_text(self)


EventType = Literal["step", "hits", "token", "citation", "usage", "done", "error"]


@dataclass(frozen=True, slots=True)
class Event:
    """An event while an answer is made. The last event is `done`, or `error` with the answer so far.

    The joined texts of all `token` events are the answer, unless it turns into an abstention at the end.
    """

    type: EventType
    step: Step | None = None
    hits: tuple[Hit, ...] = ()
    text: str = ""
    citation: Citation | None = None
    usage: Usage | None = None
    answer: Answer | None = None
    error: ErrorInfo | None = None


TurnState = Literal["asking", "done", "stopped", "failed", "forgotten"]
Rating = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stored conversation; `turns` counts its questions. `owner` is the key that created it."""

    id: str
    title: str
    turns: int
    created_at: str
    updated_at: str
    owner: str = field(default="", metadata={"json": None})


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A question of a conversation and its answer.

    `request` has its options. `text` is the answer so far, also of one that is still streaming or was stopped;
    `answer` is the complete one. A turn is `forgotten` if a document it quotes was deleted: its quotes are deleted too.
    """

    number: int
    question: str
    request: Metadata
    state: TurnState
    text: str
    answer: Metadata | None
    error: ErrorInfo | None
    rating: Rating | None
    reason: str
    created_at: str
    updated_at: str
    holder: str = field(default="", metadata={"json": None})


# ── ingest ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Job:
    """An entry of the journal: a run, or one file of it (`run` then names the run).

    `holder` is the process that runs it, or empty; `retryable` says whether a retry can help.
    """

    number: int = field(metadata={"json": "job"})
    run: int | None
    kind: JobKind
    source: str
    request: Metadata = field(metadata={"json": None})
    stage: DocumentStatus
    done: int
    total: int
    attempts: int
    error: ErrorInfo | None
    retryable: bool
    document_id: str | None
    holder: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A near-duplicate, and the share of text that the two documents have in common."""

    document_id: str
    filename: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding one path."""

    path: str
    document_id: str | None
    status: AddStatus
    chunks: int
    error: ErrorInfo | None = None
    warnings: tuple[str, ...] = ()
    near_duplicate_of: NearDuplicate | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of a remote index: how many documents it lacks, and the error if it fails."""

    address: str
    legs: tuple[str, ...]
    behind: int
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class DenseIndex:
    """The dense index in PostgreSQL: its method, None while every vector is compared, and why a build failed."""

    method: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Followed:
    """The result of one file of a synced folder. `before` is the former path of a renamed file."""

    path: str
    document_id: str | None
    status: SyncStatus
    chunks: int = 0
    before: str | None = field(default=None, metadata={"json": "renamed_from"})
    error: ErrorInfo | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Synced:
    """The changes of a sync; with `dry_run`, those it would make. `files` omits unchanged files."""

    folder: str
    files: tuple[Followed, ...] = field(metadata={"json": "documents"})
    counts: Mapping[SyncStatus, int]
    dry_run: bool
    took_ms: float
