"""Files through the stages: parse, chunk, embed, store, index.

Small documents travel together: their texts are embedded in common batches and written in one transaction. A
large one is written piece by piece and becomes visible in one step at its end. A document is reported only after
it is durable and both indexes have it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from footnotes.chunk import Chunker
from footnotes.embed import Embedder
from footnotes.embed.metric import stored_dimensions
from footnotes.errors import DimensionMismatch, DocumentError, EmptyDocument, FootnotesError, MissingExtra, StoreError
from footnotes.ingest.derive import ChunkerOf, Deriver, chunker_fingerprint
from footnotes.ingest.embedding import embed_missing
from footnotes.ingest.work import NewSource, OnProgress, Progress, hash_file
from footnotes.parse import Source
from footnotes.parse.open import Limits, parse_document, parser_fingerprint
from footnotes.parse.outline import document_title
from footnotes.parse.sniff import sniff
from footnotes.store.records import DocumentRow, Draft, Generation, Publication
from footnotes.store.sqlite import SqliteStore
from footnotes.text.sketch import Sketcher
from footnotes.types import Added, AddStatus, ErrorInfo, Part, Report

PIPELINE_VERSION = 1
SMALLEST_BATCH, FIRST_BATCH, LARGEST_BATCH = 32, 64, 4_096
BATCH_SECONDS = 4.0
"""A batch is sized so that the next one is done in about this time: visible soon, yet few commits."""
_ONE_FILE = (DocumentError, MissingExtra)
"""What is the matter with one file, and no reason to stop the others."""
BATCH_CHARACTERS = 3_000_000


@dataclass(slots=True)
class _Work:
    """A draft with what the store need not know."""

    origin: NewSource
    draft: Draft
    status: AddStatus
    warnings: list[str]
    inputs: dict[bytes, tuple[str, ...]] = field(default_factory=dict)
    sketcher: Sketcher = field(default_factory=Sketcher)


class Pipeline:
    """Takes files in for one tenant. The caller holds the library for writing."""

    def __init__(
        self,
        store: SqliteStore,
        user_id: str,
        *,
        embedder: Embedder,
        limits: Limits,
        max_file_bytes: int,
        embed_batch: int,
        on_progress: OnProgress,
    ) -> None:
        self._store = store
        self._user_id = user_id
        self._embedder = embedder
        self._limits = limits
        self._max_file_bytes = max_file_bytes
        self._embed_batch = embed_batch
        self._on_progress = on_progress
        self._pending: list[_Work] = []
        self._batch_chunks = FIRST_BATCH

    def add(self, sources: Sequence[NewSource], chunker_of: ChunkerOf) -> Iterator[Added]:
        """Take files in. What became of each comes out once it is final; one that fails does not stop the rest."""
        generation = self._generation()
        for number, origin in enumerate(sources):
            self._on_progress(Progress("reading", number, len(sources), origin.source))
            try:
                yield from self._take(origin, chunker_of, generation)
            except _ONE_FILE as error:
                yield Added(origin.source, None, "failed", 0, error.info())
        yield from self._flush(generation)

    def _generation(self) -> Generation:
        generation = self._store.ensure_generation(
            self._user_id,
            embedder=self._embedder.name,
            fingerprint=self._embedder.fingerprint,
            dimensions=stored_dimensions(self._embedder),
            plan={},
        )
        if generation.fingerprint != self._embedder.fingerprint:
            raise DimensionMismatch(
                f"the library's vectors are of {generation.embedder} ({generation.dimensions} dimensions), "
                f"the settings name {self._embedder.name} ({self._embedder.dimensions})",
            )
        return generation

    # ── one file

    def _take(self, origin: NewSource, chunker_of: ChunkerOf, generation: Generation) -> Iterator[Added]:
        file_hash, size = hash_file(origin.path, self._max_file_bytes)
        if any(self._collides(work.draft, origin, file_hash) for work in self._pending):
            yield from self._flush(generation)
        kind = sniff(origin.path, origin.filename)
        chunker = chunker_of(origin.collection, kind.mime)
        version = self.ingestion_version(kind.mime, chunker)
        same = self._store.find_by_hash(self._user_id, origin.collection, file_hash)
        if same is not None and same.document.status == "ready" and self._is_up_to_date(same, chunker_of):
            yield self._deduplicated(origin, same)
            return
        replaces, status = self._place(origin, same)
        draft = Draft(
            collection=origin.collection,
            source=origin.source,
            filename=origin.filename,
            file_hash=file_hash,
            size=size,
            ingestion_version=version,
            metadata=origin.metadata,
            replaces=replaces,
        )
        work = _Work(origin, draft, status, list(kind.warnings))
        source = Source(origin.path, origin.filename, kind.mime)
        try:
            yield from self._read(work, source, chunker, generation)
        except _ONE_FILE as error:
            self._store.discard(self._user_id, draft, error.info())
            yield Added(origin.source, draft.document_id or None, "failed", 0, error.info())
            return
        self._pending.append(work)
        if self._is_full():
            yield from self._flush(generation)

    def _read(self, work: _Work, source: Source, chunker: Chunker, generation: Generation) -> Iterator[Added]:
        """Parse and chunk; write what does not fit in memory as it comes."""
        draft = work.draft
        derive: Deriver | None = None
        report: Report | None = None
        for item in parse_document(source, limits=self._limits):
            if isinstance(item, Report):
                report = item
                break
            if derive is None:
                derive = Deriver(chunker, draft.file_hash, document_title(source.filename, item), max_tokens=self._embedder.max_tokens)
            self._derive(work, derive, item)
            self._on_progress(Progress("parsing", item.end, 0, work.origin.source))
            if len(draft.chunks) >= self._batch_chunks or draft.characters() >= BATCH_CHARACTERS:
                yield from self._flush(generation)
                self._write([work], generation)
        if report is None or derive is None or derive.count == 0:
            raise EmptyDocument(f"{source.filename} holds no text")
        work.warnings.extend(report.warnings)
        draft.sketch = work.sketcher.sketch()
        draft.publication = Publication(
            mime=report.mime,
            title=derive.title,
            characters=report.characters,
            pages=report.pages,
            chunks=derive.count,
            metadata={**report.metadata, **draft.metadata},
            warnings=tuple(work.warnings),
        )

    @staticmethod
    def _derive(work: _Work, derive: Deriver, part: Part) -> None:
        work.draft.parts.append(part)
        work.sketcher.add(part.text)
        for chunk, pieces in derive.chunks(part):
            work.draft.chunks.append(chunk)
            work.inputs[chunk.input_hash] = pieces

    def _place(self, origin: NewSource, same: DocumentRow | None) -> tuple[DocumentRow | None, AddStatus]:
        """Which document this is the next version of, if any."""
        if same is not None:
            return same, "ready" if same.current is None else "replaced"
        before = self._store.find_by_source(self._user_id, origin.collection, origin.source)
        if before is None:
            return None, "ready"
        others = [name for name in self._store.sources(self._user_id, before.document.id) if name != origin.source]
        if others:
            return None, "replaced"
        return before, "ready" if before.current is None else "replaced"

    def _deduplicated(self, origin: NewSource, same: DocumentRow) -> Added:
        before = self._store.find_by_source(self._user_id, origin.collection, origin.source)
        if before is not None and before.pk != same.pk:
            self._store.forget_source(self._user_id, origin.collection, origin.source)
        self._store.touch(self._user_id, same, source=origin.source, metadata=origin.metadata)
        return Added(origin.source, same.document.id, "deduplicated", same.document.chunks)

    def _is_up_to_date(self, row: DocumentRow, chunker_of: ChunkerOf) -> bool:
        """Whether a document was made as it would be made now. Its type is the one it came with: the same bytes under
        another name are no reason to read them in another way, and back again the next time."""
        chunker = chunker_of(row.document.collection, row.document.mime)
        return row.document.ingestion_version == self.ingestion_version(row.document.mime, chunker)

    @staticmethod
    def _collides(draft: Draft, origin: NewSource, file_hash: str) -> bool:
        same_place = draft.collection == origin.collection
        return same_place and (draft.file_hash == file_hash or draft.source == origin.source)

    def ingestion_version(self, mime: str, chunker: Chunker) -> str:
        """What a document of a type would be made with now."""
        parser = parser_fingerprint(mime)
        return f"{PIPELINE_VERSION}/{parser}/{chunker_fingerprint(chunker)}/{self._embedder.fingerprint}"

    # ── many files

    def _is_full(self) -> bool:
        if sum(len(work.draft.chunks) for work in self._pending) >= self._batch_chunks:
            return True
        return sum(work.draft.characters() for work in self._pending) >= BATCH_CHARACTERS

    def _flush(self, generation: Generation) -> Iterator[Added]:
        """Embed, write and index all that is pending, then report it."""
        works, self._pending = self._pending, []
        if not works:
            return
        began, count = time.monotonic(), sum(len(work.draft.chunks) for work in works)
        try:
            self._write(works, generation)
        except (StoreError, DocumentError):
            raise
        except FootnotesError as error:
            yield from self._all_failed(works, error.info())
            return
        self._on_progress(Progress("indexing", 0, len(works)))
        self._store.publish_changes(self._user_id, generation)
        fitting = int(count * BATCH_SECONDS / max(time.monotonic() - began, 0.001))
        self._batch_chunks = min(max(fitting, SMALLEST_BATCH), LARGEST_BATCH)
        for work in works:
            assert work.draft.publication is not None
            chunks, warnings = work.draft.publication.chunks, tuple(work.warnings)
            near = work.draft.near_duplicate_of
            yield Added(work.origin.source, work.draft.document_id, work.status, chunks, None, warnings, near)

    def _write(self, works: list[_Work], generation: Generation) -> None:
        embed_missing(
            self._store,
            generation,
            {key: pieces for work in works for key, pieces in work.inputs.items()},
            embedder=self._embedder,
            batch=self._embed_batch,
            on_progress=self._on_progress,
        )
        self._store.save(self._user_id, generation, [work.draft for work in works])
        for work in works:
            work.inputs = {}

    def _all_failed(self, works: list[_Work], error: ErrorInfo) -> Iterator[Added]:
        for work in works:
            self._store.discard(self._user_id, work.draft, error)
            yield Added(work.origin.source, work.draft.document_id or None, "failed", 0, error)

