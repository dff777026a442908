"""What passes from one store to another when a library moves: everything, as it is, with its ids.

A side reads or writes documents whole; what was read on one side and what is read back on the other have the same
digest. Nothing is parsed, cut or embedded again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from footnotes.store.packing import pack_blocks
from footnotes.store.records import Generation, NewChunk
from footnotes.types import Document, Part

CHUNKS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class CopiedGeneration:
    """A generation; `number` is its number on the side it was read from."""

    number: int
    state: str
    plan: dict[str, Any]
    embedder: str
    fingerprint: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class CopiedChunk:
    """A chunk with its vector in half precision, little-endian; None where it has none yet."""

    generation: int
    index: int
    id: str
    start: int
    end: int
    pages: tuple[int, int] | None
    lines: tuple[int, int] | None
    headings: tuple[str, ...]
    tokens: int
    prefix: str
    metadata: dict[str, Any]
    parts: tuple[tuple[int, int], ...]
    input_hash: bytes
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class CopiedOrigin:
    """How a source looked when it was read last."""

    source: str
    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    read_ns: int
    etag: str | None
    modified: str | None
    error: dict[str, Any] | None
    made_by: str


@dataclass(frozen=True, slots=True)
class CopiedDocument:
    """A document with all that is said of it; its text and chunks come beside, as they may be large."""

    document: Document
    has_text: bool
    sources: tuple[str, ...]
    origins: tuple[CopiedOrigin, ...]
    sketch: bytes | None
    derived: tuple[tuple[int, str, int], ...] = field(default_factory=tuple)
    """Generation, ingestion version and number of chunks."""


class Side(Protocol):
    """One tenant's library, from which or to which is copied."""

    def generations(self) -> list[CopiedGeneration]: ...

    def collections(self) -> list[dict[str, Any]]: ...

    def document_ids(self) -> list[str]:
        """In the order they came."""
        ...

    def document(self, document_id: str) -> CopiedDocument: ...

    def parts(self, document_id: str) -> Iterator[Part]: ...

    def chunks(self, document_id: str) -> Iterator[Sequence[CopiedChunk]]: ...

    def put_frame(
        self, generations: Sequence[CopiedGeneration], collections: Sequence[dict[str, Any]]
    ) -> dict[int, int]:
        """Make generations and collections where they are missing; which number each generation has here."""
        ...

    def put(
        self,
        document: CopiedDocument,
        parts: Iterable[Part],
        chunks: Iterable[Sequence[CopiedChunk]],
        numbers: dict[int, int],
    ) -> None:
        """One document, in one transaction."""
        ...

    def finish(self) -> None:
        """Let searches see what came."""
        ...


def digest(side: Side, document_id: str, numbers: dict[int, int] | None = None) -> str:
    """A hash of everything a side has of a document. `numbers` translates generations to those of the other side."""
    found = side.document(document_id)
    hasher = hashlib.sha256()
    said = asdict(settled(found.document))
    derived = sorted((_number(number, numbers), version, count) for number, version, count in found.derived)
    frame = [said, found.has_text, sorted(found.sources), found.sketch.hex() if found.sketch else None, derived]
    hasher.update(_packed([*frame, sorted((asdict(origin) for origin in found.origins), key=_packed)]))
    if found.has_text:
        for part in side.parts(document_id):
            hasher.update(_packed([part.start, part.text, pack_blocks(part.blocks)]))
        for batch in side.chunks(document_id):
            for chunk in batch:
                hasher.update(_packed(_chunk(chunk, numbers)))
                hasher.update(chunk.vector or b"-")
    return hasher.hexdigest()


def _chunk(chunk: CopiedChunk, numbers: dict[int, int] | None) -> list[Any]:
    spans = [chunk.start, chunk.end, chunk.pages, chunk.lines, chunk.parts]
    said = [chunk.headings, chunk.tokens, chunk.prefix, chunk.metadata, chunk.input_hash.hex()]
    return [_number(chunk.generation, numbers), chunk.index, chunk.id, *spans, *said]


def _number(number: int, numbers: dict[int, int] | None) -> int:
    return number if numbers is None else numbers[number]


def _packed(value: Any) -> bytes:
    """Canonical JSON. PostgreSQL cannot hold NUL, and has another character in its place."""
    packed = json.dumps(value, ensure_ascii=False, sort_keys=True, default=list)
    return packed.replace("\\u0000", "\ufffd").encode("utf-8", "surrogatepass")


def some_at_a_time(chunks: Iterable[CopiedChunk]) -> Iterator[Sequence[CopiedChunk]]:
    remaining = iter(chunks)
    while batch := list(islice(remaining, CHUNKS_AT_ONCE)):
        yield batch


def settled(document: Document) -> Document:
    """A document as it is where nobody works on it: what waits for vectors waits in a queue."""
    return replace(document, status="queued") if document.status in ("embedding", "indexing") else document


def as_new_chunk(chunk: CopiedChunk) -> NewChunk:
    names = ("index", "id", "start", "end", "pages", "headings", "tokens", "prefix", "metadata", "input_hash", "parts")
    return NewChunk(**{name: getattr(chunk, name) for name in (*names, "lines")})


class CopiedStore(Protocol):
    """What a side asks of its store, whichever it is."""

    def generations(self, user_id: str) -> list[Generation]: ...

    def collections(self, user_id: str) -> list[dict[str, Any]]: ...

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]: ...


class StoredSide:
    """What every store gives in the same way."""

    def __init__(self, store: CopiedStore, user_id: str) -> None:
        self._from = store
        self._user_id = user_id

    def generations(self) -> list[CopiedGeneration]:
        """Those that are complete."""
        found = [g for g in self._from.generations(self._user_id) if g.state != "building"]
        return [CopiedGeneration(g.pk, g.state, g.plan, g.embedder, g.fingerprint, g.dimensions) for g in found]

    def collections(self) -> list[dict[str, Any]]:
        return self._from.collections(self._user_id)

    def parts(self, document_id: str) -> Iterator[Part]:
        return self._from.parts(self._user_id, document_id)
