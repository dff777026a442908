"""Records exchanged between the stages and a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from footnotes.types import (
    DenseIndex,
    Document,
    DocumentStatus,
    ErrorInfo,
    IndexState,
    JobKind,
    Metadata,
    NearDuplicate,
    Part,
)

if TYPE_CHECKING:
    from footnotes.store.lexemes import JoinedTerms

ChunkSpan: TypeAlias = tuple[int, int, int]
"""A document's key and a span of its text."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with data that only the store uses."""

    pk: int
    current: int | None
    document: Document


@dataclass(frozen=True, slots=True)
class Generation:
    """Everything derived with one embedding model, and the plan behind it."""

    pk: int
    user_id: str
    state: str
    plan: dict[str, Any]
    model: int
    fingerprint: str
    embedder: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk before it is stored. `input_hash` identifies the embedded text: prefix and text.

    `tokens` is 0 if nobody has counted them: whoever needs their number counts them then.
    `parts` are the spans whose vectors make the chunk's; empty if its whole text does.
    """

    index: int
    id: str
    start: int
    end: int
    pages: tuple[int, int] | None
    headings: tuple[str, ...]
    tokens: int
    prefix: str
    metadata: Metadata
    input_hash: bytes
    parts: tuple[tuple[int, int], ...] = ()
    lines: tuple[int, int] | None = None
    terms: JoinedTerms | None = None
    """For a store that indexes terms with the chunk, if they are known already."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """The approximate bytes of a tenant's library, the vector database that serves legs, and the database's own index.

    The indexes are None if there is none.
    """

    bytes: int
    index: IndexState | None
    dense_index: DenseIndex | None


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A stored chunk without a vector, and the data to embed it."""

    document: int
    index: int
    input_hash: bytes
    start: int
    tokens: int
    prefix: str
    headings: tuple[str, ...]
    parts: tuple[tuple[int, int], ...]
    text: str


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to record: a run, or a file of one."""

    kind: JobKind
    source: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """The progress of a job."""

    number: int
    stage: DocumentStatus
    done: int = 0
    total: int = 0
    error: ErrorInfo | None = None
    retryable: bool = False
    document_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredHit:
    """A chunk as search results show it, without scores."""

    key: int
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
    metadata: dict[str, Any]
    mime: str
    total: int = 0
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """The data of a document that a new version replaces when it is published."""

    mime: str
    title: str
    characters: int
    pages: int | None
    chunks: int
    metadata: Metadata
    warnings: tuple[str, ...]


@dataclass(slots=True)
class Draft:
    """A document being written. The store empties its buffers whenever it has saved them.

    A draft with `publication` is complete: saving it publishes this version. Saving one with an `error` discards what
    was written of it; a document that was never complete stays listed as failed, with the reason. `replaces` is the
    document whose next version this is. `handle` belongs to the store, which also sets whether the document `waits` for
    vectors, and which near-duplicate it found by the sketch. If another writer holds the document, the store writes
    nothing: `claimed_pk` is then the key of the document being made from the same bytes, `refused` the reason why a
    document's next version cannot be written now.
    """

    collection: str
    source: str
    filename: str
    file_hash: str
    size: int
    ingestion_version: str
    metadata: Metadata
    title: str = ""
    replaces: DocumentRow | None = None
    status: DocumentStatus = "embedding"
    parts: list[Part] = field(default_factory=list)
    chunks: list[ChunkDraft] = field(default_factory=list)
    publication: Publication | None = None
    document_id: str = ""
    handle: Any = None
    waits: bool = False
    sketch: bytes | None = None
    near_duplicate_of: NearDuplicate | None = None
    error: ErrorInfo | None = None
    claimed_pk: int | None = None  # the document of another writer who has the same bytes
    refused: ErrorInfo | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether another writer holds the document, or one with the same bytes."""
        return self.claimed_pk is not None or self.refused is not None

    def characters(self) -> int:
        """The number of buffered characters."""
        return sum(len(part.text) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Signature:
    """Data to tell without reading that a file has not changed, and when it was recorded."""

    size: int
    mtime_ns: int
    ctime_ns: int
    read_ns: int


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A known source. Without `document_id` it has no document: an archive, or a file that failed.

    For an entry of a synced source, `stamp` is its last stamp and `follower` the name of that source.
    """

    source: str
    document_id: str | None
    file_hash: str | None
    mime: str | None
    status: str | None
    chunks: int
    ingestion_version: str | None
    bytes: int
    signature: Signature | None
    error: ErrorInfo | None
    made_by: str | None
    stamp: str | None = None
    follower: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The state of a source when it was read, and what failed."""

    source: str
    read_ns: int
    signature: Signature | None = None
    etag: str | None = None
    modified: str | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A failed check. `mendable` if a rebuild from the database repairs it."""

    what: str
    mendable: bool


@dataclass(slots=True)
class Verification:
    """The checks that were made, and those that failed."""

    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def count(self, name: str, result: Problem | int) -> None:
        """Add a problem, or the number of things that were checked and are sound."""
        if isinstance(result, Problem):
            self.problems.append(result)
        else:
            self.checked[name] = self.checked.get(name, 0) + result

    def add(self, other: Verification) -> None:
        """Add the results of another check."""
        self.problems += other.problems
        self.repaired += other.repaired
