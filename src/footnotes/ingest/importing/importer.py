"""Imports a collection of another tool: reads all records, joins them to documents, stores them with their vectors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from footnotes.embed import Matrix
from footnotes.errors import StoreLocked
from footnotes.ingest.context import IngestContext
from footnotes.ingest.embedding import Embedding, check_embedder
from footnotes.ingest.importing.addresses import build_reader
from footnotes.ingest.importing.fields import MOST_PAGES, filename_of, headings_of, title_of
from footnotes.ingest.importing.reading import (
    OTHER_SIZE,
    TOO_LONG,
    UNUSABLE,
    Reading,
    Verdict,
    has_size_of,
    judge_vectors,
    unit_vector,
)
from footnotes.ingest.importing.records import ImportChoices, ImportOptions, ImportResult, Reader, VectorCounts
from footnotes.ingest.importing.spool import Spool, SpooledDocument, SpooledRecord
from footnotes.ingest.transfer import IMPORTED
from footnotes.ingest.waiting import WaitingDocuments
from footnotes.ingest.work import Progress, chunk_id
from footnotes.store.naming import input_hash
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation, Publication
from footnotes.text.script import stated_language
from footnotes.text.sketch import Sketcher
from footnotes.types import Block, JsonValue, Part

BATCH_CHUNKS, BATCH_CHARACTERS = 1_000, 3_000_000
CHUNKER = "records-1"
"""Part of every chunk's id: it changes if the same records would become other chunks."""
BETWEEN = "\n\n"
PART_CHARACTERS = 64_000
"""A part ends with the record that reaches this size. A later reindex never builds a chunk across parts."""


def import_collection(context: IngestContext, source: str, choices: ImportChoices) -> ImportResult:
    """Import the collection at an address."""
    on_progress = choices.get("on_progress")
    options = ImportOptions(
        collection=context.collection(choices.get("collection")),
        text_field=choices.get("text_field", ""),
        vector=choices.get("vector", ""),
        group_by=choices.get("group_by", ""),
        model=choices.get("model", ""),
    )
    embedding = context.embedding(on_progress)
    reader = build_reader(source, options, context.settings, dimensions=embedding.embedder.dimensions)
    with context.writing("importing a collection"):
        done = _import_records(embedding, reader, options)
    context.finish_graph(on_progress)
    return done


def _import_records(embedding: Embedding, reader: Reader, options: ImportOptions) -> ImportResult:
    """Import the records of a reader. All of them are read before the first document is stored."""
    store, user_id = embedding.store, embedding.user
    if (serving := store.generations.serving(user_id)) is not None:
        check_embedder(serving, embedding.embedder)
    with reader, Spool(store.incoming(user_id)) as spool:
        reading = Reading(reader, options, spool, embedding.on_progress)
        reading.run()
        work = Importer(embedding, spool, options, reader.origin)
        work.run()
    return ImportResult(
        source=reader.origin,
        records=reading.total,
        added=work.added,
        skipped=work.skipped,
        chunks=work.chunks,
        left_out=dict(reading.left_out),
        vectors=VectorCounts(work.taken, work.embedded, work.known, dict(work.reasons)),
        notes=(*reader.notes, *work.notes),
    )


@dataclass(slots=True)
class _Batch:
    """Drafts to write next, some of them complete, and the vectors of their chunks."""

    drafts: list[Draft] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    chunks: int = 0
    characters: int = 0
    vectors: dict[bytes, Matrix] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return self.chunks >= BATCH_CHUNKS or self.characters >= BATCH_CHARACTERS

    def add(self, draft: Draft) -> None:
        self.drafts.append(draft)
        self.sources.add(draft.source)


class Importer:
    """Stores the documents of a spool. Documents that the library already has are unchanged."""

    def __init__(self, embedding: Embedding, spool: Spool, options: ImportOptions, origin: str) -> None:
        self._embedding = embedding
        self._store, self._user_id, self._embedder = embedding.store, embedding.user, embedding.embedder
        self._spool = spool
        self._options = options
        self._origin = origin
        self._batch = _Batch()
        self._sampled: set[bytes] = set()
        self._verdict = Verdict(False)
        self.notes: list[str] = []
        self.added = self.skipped = self.chunks = self.taken = self.embedded = self.known = 0
        self.reasons: Counter[str] = Counter()

    def run(self) -> None:
        generation = self._embedding.open_generation()
        total = self._mark_known()
        if total:
            self._judge(generation)
        for number, document in enumerate(self._spool.documents(new_only=True)):
            self._embedding.on_progress(Progress("indexing", number, total))
            self._import_document(generation, document)
        self._flush(generation)
        for _ in WaitingDocuments(self._embedding, generation).embed():  # also those left by earlier work
            pass

    def _mark_known(self) -> int:
        """Mark documents that are in the library or occur twice; return the number of new ones."""
        new = 0
        for document in self._spool.documents():
            outline = self._outline(document)
            row = self._find_same(outline)
            if self._spool.is_first(document, outline.file_hash) and (row is None or row.current is None):
                new += 1
            else:
                self._spool.set_known(document)
                self.skipped += 1
        return new

    def _outline(self, document: SpooledDocument) -> Outline:
        return outline_records(self._spool.records_of(document), document.group)

    def _find_same(self, outline: Outline) -> DocumentRow | None:
        key, documents = outline.file_hash, self._store.documents
        return documents.find_by(self._user_id, self._options.collection, "hash", [key]).get(key)

    def _judge(self, generation: Generation) -> None:
        batch = self._embedding.batch
        self._verdict = judge_vectors(self._spool, self._embedder, model=self._options.model, batch=batch)
        if self._verdict.note:
            self.notes.append(self._verdict.note)
        if self._verdict.sampled is not None:  # these vectors exist already
            texts, vectors = self._verdict.sampled
            hashes = [input_hash(text) for text in texts]
            self._store.vectors.save(self._user_id, generation, hashes, vectors)
            self._sampled.update(hashes)

    # ── one document

    def _import_document(self, generation: Generation, document: SpooledDocument) -> None:
        outline = self._outline(document)
        draft = self._draft(document, outline, generation)
        sketcher, language = Sketcher(), dict[str, JsonValue]()
        self._batch.add(draft)
        for number, group in enumerate(group_records(self._spool.records_of(document), outline)):
            language = language if number else stated_language(group.part.text)
            sketcher.add(group.part.text)
            self._buffer(draft, group)
            if self._batch.is_full and group.part.end < outline.characters:
                self._flush(generation, unfinished=draft)
                if draft.claimed_pk is not None:
                    return
        draft.sketch = sketcher.sketch()
        draft.publication = Publication(
            mime="text/plain",
            title=outline.title,
            characters=outline.characters,
            pages=outline.pages,
            chunks=outline.records,
            metadata={**language, **outline.shared},
            warnings=(self._warning(outline),),
        )
        if self._batch.is_full:
            self._flush(generation)

    def _draft(self, document: SpooledDocument, outline: Outline, generation: Generation) -> Draft:
        return Draft(
            collection=self._options.collection,
            source=self._source(document, outline),
            filename=outline.filename,
            file_hash=outline.file_hash,
            size=outline.size,
            ingestion_version=f"{IMPORTED}/0/{CHUNKER}/{generation.fingerprint}",
            metadata=outline.shared,
            title=outline.title,
            replaces=self._find_same(outline),
        )

    def _source(self, document: SpooledDocument, outline: Outline) -> str:
        """Return the source of a document, made unique: stored documents keep theirs."""
        name = document.group
        if name is None:
            name = next(iter(self._spool.records_of(document))).id
        source = f"{self._origin}#{name}"
        found = self._store.documents.find_by(self._user_id, self._options.collection, "source", [source])
        before = found.get(source)
        is_others = before is not None and before.document.file_hash != outline.file_hash
        return f"{source}@{outline.file_hash[:12]}" if is_others or source in self._batch.sources else source

    def _warning(self, outline: Outline) -> str:
        is_one = outline.records == 1
        records, verb = ("a record", "it was") if is_one else (f"{outline.records:,} records", "they were")
        return f"the text is that of {records} of {self._origin}, not that of the file {verb} made from"

    def _buffer(self, draft: Draft, part: GroupedPart) -> None:
        draft.parts.append(part.part)
        for chunk, record in part.chunks:
            draft.chunks.append(chunk)
            self._keep_vector(chunk, record)
        self._batch.chunks += len(part.chunks)
        self._batch.characters += len(part.part.text)

    def _keep_vector(self, chunk: ChunkDraft, record: SpooledRecord) -> None:
        """Store the vector of a record, or count the reason why it is rebuilt."""
        if record.vector is None:
            return
        if not self._verdict.accepted:
            self.reasons[self._verdict.reason] += 1
            return
        row = unit_vector(record.vector, self._embedder)
        room = self._embedder.max_tokens
        if row is None:
            self.reasons[UNUSABLE if has_size_of(record.vector, self._embedder) else OTHER_SIZE] += 1
        elif room and record.tokens > room:
            self.reasons[TOO_LONG] += 1
        else:
            self._batch.vectors.setdefault(chunk.input_hash, row)

    # ── many documents

    def _flush(self, generation: Generation, *, unfinished: Draft | None = None) -> None:
        """Write the batch, vectors first, so a document with all its vectors is complete at once."""
        batch, self._batch = self._batch, _Batch()
        if not batch.drafts:
            return
        self._save_vectors(generation, batch)
        self._store.documents.save(self._user_id, generation, batch.drafts)
        for draft in batch.drafts:
            self._check_saved(draft)
        self._store.publish(self._user_id, generation)
        if unfinished is not None and unfinished.claimed_pk is None:
            self._batch.add(unfinished)

    def _save_vectors(self, generation: Generation, batch: _Batch) -> None:
        hashes = [chunk.input_hash for draft in batch.drafts for chunk in draft.chunks]
        missing = self._store.vectors.missing(self._user_id, generation, hashes)
        ready = [key for key in missing if key in batch.vectors]
        if ready:
            vectors = np.stack([batch.vectors[key] for key in ready])
            self._store.vectors.save(self._user_id, generation, ready, vectors)
        sampled = self._sampled.intersection(hashes)
        self._sampled -= sampled
        self.taken += len(ready)
        self.embedded += len(missing) - len(ready) + len(sampled)
        self.known += len(hashes) - len(missing) - len(sampled)

    def _check_saved(self, draft: Draft) -> None:
        if draft.refused is not None:
            raise StoreLocked(draft.refused.message, remedy=draft.refused.remedy)
        if draft.claimed_pk is not None:
            documents = self._store.documents
            documents.is_claimed_by_another(self._user_id, draft.claimed_pk, wait=True)
            row = documents.find_by(self._user_id, draft.collection, "hash", [draft.file_hash]).get(draft.file_hash)
            if row is None or row.current is None:
                raise StoreLocked(f"another writer gave up {draft.filename}", remedy="Run the same import again.")
            self.skipped += 1
        elif draft.publication is not None:
            self.added += 1
            self.chunks += draft.publication.chunks


# ── turns records into documents: their texts are joined by a blank line, and each record is exactly one chunk


@dataclass(frozen=True, slots=True)
class Outline:
    """A document before it is written."""

    file_hash: str
    filename: str
    title: str
    shared: Mapping[str, Any]
    records: int
    characters: int
    size: int
    pages: int | None


@dataclass(frozen=True, slots=True)
class GroupedPart:
    """A part with its chunks and their records."""

    part: Part
    chunks: tuple[tuple[ChunkDraft, SpooledRecord], ...]


def outline_records(records: Iterable[SpooledRecord], group: str | None) -> Outline:
    """Outline a document from its records. The hash covers their texts, metadata and order, but no ids."""
    hasher = hashlib.sha256(f"footnotes {CHUNKER}\n{json.dumps(group)}".encode())
    shared: dict[str, str] | None = None
    count = characters = size = pages = 0
    first_id = ""
    for record in records:
        hasher.update(f"\n{json.dumps(record.text)}\n{record.packed}".encode())
        shared = _keep_shared(shared, record.metadata)
        first_id = first_id or record.id
        characters += len(record.text) + (len(BETWEEN) if count else 0)
        size += len(record.text.encode()) + (len(BETWEEN) if count else 0)
        pages = max(pages, record.page or 0)
        count += 1
    agreed = {name: json.loads(packed) for name, packed in (shared or {}).items()}
    filename = filename_of(agreed, group, first_id)
    pages = max(pages, _total_pages(agreed)) if pages else 0
    title = title_of(agreed, filename)
    return Outline(hasher.hexdigest(), filename, title, agreed, count, characters, size, pages or None)


def _keep_shared(shared: dict[str, str] | None, metadata: Mapping[str, object]) -> dict[str, str]:
    """Keep the metadata that all records so far share, as JSON: 1, 1.0 and true differ."""
    packed = {name: json.dumps(value, sort_keys=True) for name, value in metadata.items()}
    return packed if shared is None else {name: value for name, value in shared.items() if packed.get(name) == value}


def _total_pages(metadata: Mapping[str, object]) -> int:
    total = metadata.get("total_pages")
    return total if isinstance(total, int) and 0 < total < MOST_PAGES else 0


def group_records(records: Iterable[SpooledRecord], outline: Outline) -> Iterator[GroupedPart]:
    """Yield the document's parts one at a time: it may be larger than memory."""
    gathered: list[SpooledRecord] = []
    start = index = characters = 0
    for number, record in enumerate(records, start=1):
        gathered.append(record)
        characters += len(record.text)
        if characters >= PART_CHARACTERS or number == outline.records:
            part = _part(gathered, start, index, outline, is_last=number == outline.records)
            start, index, gathered, characters = part.part.end, number, [], 0
            yield part


def _part(records: list[SpooledRecord], start: int, index: int, outline: Outline, *, is_last: bool) -> GroupedPart:
    at, texts, blocks, chunks = start, list[str](), list[Block](), list[tuple[ChunkDraft, SpooledRecord]]()
    for place, record in enumerate(records):
        end = at + len(record.text)
        headings = headings_of(record.metadata)
        blocks.append(Block("paragraph", at, end, page=record.page, headings=headings))
        chunks.append((_chunk(record, index + place, at, headings, outline), record))
        texts.append(record.text)
        at = end + len(BETWEEN)
    text = BETWEEN.join(texts) + ("" if is_last else BETWEEN)
    return GroupedPart(Part(start, text, tuple(blocks)), tuple(chunks))


def _chunk(record: SpooledRecord, index: int, start: int, headings: tuple[str, ...], outline: Outline) -> ChunkDraft:
    """Build the chunk of a record. Only its text is embedded, as in the other tool."""
    end = start + len(record.text)
    return ChunkDraft(
        index=index,
        id=chunk_id(outline.file_hash, CHUNKER, index, start, end),
        start=start,
        end=end,
        pages=(record.page, record.page) if record.page else None,
        headings=headings,
        tokens=record.tokens,
        prefix="",
        metadata={name: value for name, value in record.metadata.items() if name not in outline.shared},
        input_hash=input_hash(record.text),
    )
