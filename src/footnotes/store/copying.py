"""Copies a library between stores: everything unchanged, with its ids.

A side reads or writes whole documents; a document has the same digest on both sides. Nothing is parsed, chunked or
embedded again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from footnotes.store import documents, generations, near
from footnotes.store.collections import Collections
from footnotes.store.conversations import Conversations, Copied, put_copied, quoted_documents
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Json, Row
from footnotes.store.documents import Documents
from footnotes.store.generations import Generations
from footnotes.store.packing import half_bytes, pack_blocks, unpack_headings
from footnotes.store.records import ChunkDraft, DocumentRow, Generation
from footnotes.store.rows import packed_error, parts_from, span_from
from footnotes.store.texts import TextRows, TextWriter
from footnotes.types import Document, Part

CHUNKS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class CopiedGeneration:
    """A generation; `number` is its number in the source store."""

    number: int
    state: str
    plan: dict[str, object]
    embedder: str
    fingerprint: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class CopiedChunk:
    """A chunk with its vector in half precision, little-endian; None if it has no vector yet."""

    generation: int
    draft: ChunkDraft
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class CopiedOrigin:
    """The state of a source when it was last read."""

    source: str
    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    read_ns: int
    etag: str | None
    modified: str | None
    error: dict[str, object] | None
    made_by: str


@dataclass(frozen=True, slots=True)
class CopiedDocument:
    """A document with all its records; text and chunks are separate, because they may be large."""

    document: Document
    has_text: bool
    sources: tuple[str, ...]
    origins: tuple[CopiedOrigin, ...]
    sketch: bytes | None
    derived: tuple[tuple[int, str, int], ...] = field(default_factory=tuple)
    """Generation, ingestion version and number of chunks."""


def digest(side: Side, document_id: str, numbers: dict[int, int] | None = None) -> str:
    """Hash all data of a document on one side. `numbers` maps its generations to those of the other side."""
    found = side.document(document_id)
    hasher = hashlib.sha256()
    fields = asdict(as_published(found.document))
    derived = sorted((_number(number, numbers), version, count) for number, version, count in found.derived)
    frame = [fields, found.has_text, sorted(found.sources), found.sketch.hex() if found.sketch else None, derived]
    hasher.update(_pack([*frame, sorted((asdict(origin) for origin in found.origins), key=_pack)]))
    if found.has_text:
        for part in side.parts(document_id):
            hasher.update(_pack([part.start, part.text, pack_blocks(part.blocks)]))
        for batch in side.chunks(document_id):
            for chunk in batch:
                hasher.update(_pack(_chunk(chunk, numbers)))
                hasher.update(chunk.vector or b"-")
    return hasher.hexdigest()


def _chunk(chunk: CopiedChunk, numbers: dict[int, int] | None) -> list[object]:
    fields = {**asdict(chunk.draft), "input_hash": chunk.draft.input_hash.hex()}
    return [_number(chunk.generation, numbers), fields]


def _number(number: int, numbers: dict[int, int] | None) -> int:
    return number if numbers is None else numbers[number]


def _pack(value: object) -> bytes:
    """Return canonical JSON. NUL is replaced as in PostgreSQL, which cannot store it."""
    packed = json.dumps(value, ensure_ascii=False, sort_keys=True, default=list)
    return packed.replace("\\u0000", "\ufffd").encode("utf-8", "surrogatepass")


def as_published(document: Document) -> Document:
    """Return a document as if no writer were working on it: if it waits for vectors, it is queued."""
    return replace(document, status="queued") if document.status in ("embedding", "indexing") else document


class Side:
    """One tenant's library as source or target of a copy. The copier holds it for writing."""

    def __init__(self, core: Core, user_id: str) -> None:
        self._core = core
        self._database = core.database
        self._user_id = user_id

    # ── reading

    def generations(self) -> list[CopiedGeneration]:
        """Return the complete generations."""
        found = [g for g in Generations(self._core).all(self._user_id) if g.state != "building"]
        return [CopiedGeneration(g.pk, g.state, g.plan, g.embedder, g.fingerprint, g.dimensions) for g in found]

    def collections(self) -> list[dict[str, object]]:
        return Collections(self._core).all(self._user_id)

    def conversations(self) -> Iterator[Copied]:
        """Yield every conversation with its turns, and the documents that each quotes."""
        stored = Conversations(self._core)
        for conversation in stored.all(self._user_id, limit=2**31 - 1):
            turns = stored.turns(self._user_id, conversation.id)
            with self._database.read(self._user_id) as cursor:
                quoted = quoted_documents(cursor, conversation.id, turns)
            yield conversation, turns, quoted

    def parts(self, document_id: str) -> Iterator[Part]:
        return Documents(self._core).parts(self._user_id, document_id)

    def document_ids(self) -> list[str]:
        """Return ids in the order the documents were added."""
        with self._database.read(self._user_id) as cursor:
            return [row["id"] for row in cursor.all("document_ids")]

    def document(self, document_id: str) -> CopiedDocument:
        numbers = {generation.number for generation in self.generations()}
        with self._database.snapshot(self._user_id) as cursor:
            row = documents.get(cursor, document_id)
            derived = cursor.all("copied_derived", document=row.pk)
            origins = cursor.all("copied_origins", document=row.pk)
            return CopiedDocument(
                document=row.document,
                has_text=row.current is not None,
                sources=tuple(documents.sources(cursor, row.pk)),
                origins=tuple(map(_origin, origins)),
                sketch=cursor.value("sketch_of", document=row.pk),
                derived=tuple(
                    (each["generation"], each["ingestion_version"], each["chunks"])
                    for each in derived
                    if each["generation"] in numbers
                ),
            )

    def chunks(self, document_id: str) -> Iterator[Sequence[CopiedChunk]]:
        """Yield the chunks of a document in batches."""
        generation, after = 0, -1
        with self._database.read(self._user_id) as cursor:
            version = documents.get(cursor, document_id).current
        while True:
            with self._database.read(self._user_id) as cursor:
                place = {"version": version, "generation": generation, "after": after}
                rows = cursor.all("copied_chunks", **place, limit=CHUNKS_AT_ONCE)
            if not rows:
                return
            yield list(map(_chunk_from, rows))
            generation, after = rows[-1]["generation"], rows[-1]["chunk_index"]

    # ── writing

    def put_frame(
        self, there: Sequence[CopiedGeneration], collections: Sequence[Mapping[str, object]]
    ) -> dict[int, int]:
        """Create missing generations and collections; return this side's number of each generation."""
        with self._database.write(self._user_id) as cursor:
            cursor.run("make_user")
            for each in collections:
                names = ("name", "chunker", "chunker_options", "system_prompt")
                cursor.run("put_collection", **{name: each[name] for name in names})
            known = {g.plan.get("copied"): g.pk for g in generations.listed(cursor)}
            return {each.number: known.get(each.number) or _generation(cursor, each).pk for each in there}

    def put(
        self,
        document: CopiedDocument,
        parts: Iterable[Part],
        chunks: Iterable[Sequence[CopiedChunk]],
        numbers: Mapping[int, int],
    ) -> None:
        """Write one document in one transaction."""
        with self._database.write(self._user_id) as cursor:
            row = DocumentRow(_put_document(cursor, document), None, document.document)
            if document.has_text:
                row = replace(row, current=self._put_text(cursor, row, parts))
                here = {g.pk: g for g in generations.listed(cursor)}
                for batch in chunks:
                    for number in sorted({chunk.generation for chunk in batch}):
                        found = [chunk for chunk in batch if chunk.generation == number]
                        vectors = {chunk.draft.input_hash: chunk.vector for chunk in found if chunk.vector}
                        drafts = [chunk.draft for chunk in found]
                        self._core.put_chunks(cursor, here[numbers[number]], row, drafts, vectors)
            for number, made_with, count in document.derived:
                generations.put_planned(cursor, numbers[number], row.pk, made_with, count)
                cursor.run("note_chunks", generation=numbers[number], document=row.pk, versions=[row.current])
            self._put_relations(cursor, document, row)
            cursor.run("bump")

    def _put_text(self, cursor: Cursor, row: DocumentRow, parts: Iterable[Part]) -> int:
        document = row.document
        identity = {"document": row.pk, "collection": document.collection, "file_hash": document.file_hash}
        version = int(cursor.value("make_version", **identity))
        writer, whole = TextWriter(version), document.characters <= self._core.whole
        pieces = list[str]()
        for part in parts:
            rows = TextRows()
            if whole:
                pieces.append(part.text)
                writer.add_part(part, rows)
            else:
                writer.add(part, rows)
            rows.write(cursor)
        rows = TextRows()
        writer.finish(rows)
        rows.write(cursor)
        content = "".join(pieces) if whole else None
        cursor.run("serve_copy", document=row.pk, version=version, content=content)
        return version

    def _put_relations(self, cursor: Cursor, document: CopiedDocument, row: DocumentRow) -> None:
        collection = document.document.collection
        places = [{"collection": collection, "source": source, "document": row.pk} for source in document.sources]
        cursor.many("put_sources", places)
        found = ({**asdict(each), "error": Json(each.error), "collection": collection} for each in document.origins)
        cursor.many("put_origins", found)
        if document.has_text:
            documents.put_facets(cursor, [row], new=True)
            near.put(cursor, collection, row.pk, document.sketch, new=True)

    def put_conversation(self, copied: Copied) -> None:
        with self._database.write(self._user_id) as cursor:
            put_copied(cursor, copied)

    def finish(self) -> None:
        """Publish the copied documents."""
        self._core.finish_copy(self._user_id)


def _generation(cursor: Cursor, each: CopiedGeneration) -> Generation:
    plan = {**each.plan, "copied": each.number}
    recipe = generations.Recipe(each.embedder, each.fingerprint, each.dimensions, plan)
    return generations.make(cursor, recipe, each.state)


def _put_document(cursor: Cursor, document: CopiedDocument) -> int:
    published = as_published(document.document)
    values = {name: getattr(published, name) for name in Document.__dataclass_fields__}
    packed = {"metadata": Json(dict(published.metadata)), "warnings": Json(list(published.warnings))}
    return int(cursor.value("copy_document", **{**values, **packed, "error": packed_error(published.error)}))


def _origin(row: Row) -> CopiedOrigin:
    values = {name: row[name] for name in CopiedOrigin.__dataclass_fields__}
    error = json.loads(row["error"]) if row["error"] else None
    return CopiedOrigin(**{**values, "error": error, "made_by": row["made_by"] or ""})


def _chunk_from(row: Row) -> CopiedChunk:
    draft = ChunkDraft(
        index=row["chunk_index"],
        id=row["id"],
        start=row["start_offset"],
        end=row["end_offset"],
        pages=span_from(row, "page"),
        lines=span_from(row, "line"),
        headings=unpack_headings(row["headings"]),
        tokens=row["tokens"],
        prefix=row["prefix"],
        metadata=json.loads(row["metadata"]),
        parts=parts_from(row["parts"]),
        input_hash=row["input_hash"],
    )
    return CopiedChunk(row["generation"], draft, half_bytes(row["vector"]))
