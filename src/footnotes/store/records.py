"""What passes between the stages and a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from footnotes.types import Document, DocumentStatus, ErrorInfo, JobKind, Metadata, NearDuplicate, Part


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with what only the store knows of it."""

    pk: int
    current: int | None
    document: Document


@dataclass(frozen=True, slots=True)
class Generation:
    """Everything derived with one embedding model, and the plan it was made by."""

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
    """A chunk on its way into the store. `input_hash` names what is embedded: prefix and text.

    `parts` are the spans whose vectors make the chunk's; none where its whole text does.
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


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A stored chunk that has no vector yet, with what is needed to make one."""

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
    """A piece of long work to be written down: a run, or a file of one."""

    kind: JobKind
    source: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """How far a job is."""

    number: int
    stage: DocumentStatus
    done: int = 0
    total: int = 0
    error: ErrorInfo | None = None
    retryable: bool = False
    document_id: str | None = None


ChunkSpan: TypeAlias = tuple[int, int, int]
"""A document by its key, and a span of its text."""


@dataclass(frozen=True, slots=True)
class StoredHit:
    """A chunk as search shows it, before scores."""

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
    """What is said of a document when a new version of it begins to be served."""

    mime: str
    title: str
    characters: int
    pages: int | None
    chunks: int
    metadata: Metadata
    warnings: tuple[str, ...]


@dataclass(slots=True)
class Draft:
    """A document being written. Its buffers are emptied whenever the store has saved them.

    With `publication` set the draft is complete: saving it makes this version the one that is served. `replaces`
    is the document whose next version this is; `handle` belongs to the store, which also says whether the
    document `waits` for vectors, and which other one it found to be nearly the same, by the sketch. Where another
    writer is at the same document, the store writes nothing and says so: `elsewhere` is the key of the document that
    is being made of the same bytes, `refused` the reason why the next version of one cannot be written now.
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
    elsewhere: int | None = None
    refused: ErrorInfo | None = None

    def characters(self) -> int:
        """How much text is buffered."""
        return sum(len(part.text) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells that a file has not changed without reading it, and when that was noted."""

    size: int
    mtime_ns: int
    ctime_ns: int
    read_ns: int


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source the library knows. Without `document_id` it gave no document: an archive, or a file that failed.

    Of an entry of a source that is followed, `stamp` is the one it had and `follower` the name of that source.
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
    """How a source looked when it was read, and what could not be done with it."""

    source: str
    read_ns: int
    signature: Signature | None = None
    etag: str | None = None
    modified: str | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not hold. `mendable` when a rebuild from the database puts it right."""

    what: str
    mendable: bool


@dataclass(slots=True)
class Verification:
    """What was checked and what did not hold."""

    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def add(self, other: Verification) -> None:
        """Take over what another check found."""
        self.problems += other.problems
        self.repaired += other.repaired
