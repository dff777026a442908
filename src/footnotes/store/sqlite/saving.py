"""Writes drafts: text and chunks as they come, and the publication of a document in one step."""

from __future__ import annotations

from footnotes.store import documents, generations, near
from footnotes.store.database import Cursor, Json
from footnotes.store.records import Draft, Generation
from footnotes.store.sqlite import chunks, staging
from footnotes.store.texts import Handle, TextRows, TextWriter
from footnotes.types import ErrorInfo


def save(cursor: Cursor, generation: Generation, draft: Draft) -> None:
    """Write the buffers of a draft. Publish a complete one, or stage it if an earlier version is published."""
    if draft.handle is None:
        draft.handle = begin(cursor, draft)
    handle: Handle = draft.handle
    rows = TextRows()
    for part in draft.parts:
        handle.writer.add(part, rows)
    if draft.publication is not None:
        handle.writer.finish(rows)
    rows.write(cursor)
    chunks.put(cursor, generation.pk, handle.pk, handle.version, draft.chunks)
    if draft.publication is not None:
        _complete(cursor, generation, draft, handle, draft.publication.chunks)


def _complete(cursor: Cursor, generation: Generation, draft: Draft, handle: Handle, count: int) -> None:
    before = documents.get(cursor, draft.document_id)
    draft.waits = staging.lacks_vectors(cursor, generation, handle.version)
    if before.current is not None:
        staging.stage(cursor, generation, before, handle.version, draft)
    else:
        staging.publish(cursor, generation, handle.pk, handle.version, draft)
        documents.put_facets(cursor, [documents.get(cursor, draft.document_id)])
        cursor.run("note_chunks", generation=generation.pk, document=handle.pk)
    documents.add_source(cursor, draft.collection, draft.source, handle.pk)
    draft.near_duplicate_of = near.put(cursor, draft.collection, handle.pk, draft.sketch, new=before.current is None)
    generations.put_planned(cursor, generation.pk, handle.pk, draft.ingestion_version, count)


def discard(cursor: Cursor, draft: Draft, error: ErrorInfo) -> None:
    """Remove the rows of an abandoned draft; its vectors stay, so that another attempt need not embed again."""
    if draft.handle is None:
        draft.handle = begin(cursor, draft)
    cursor.run("drop_versions", versions=[draft.handle.version])
    documents.set_failed(cursor, draft.handle.pk, error)


def begin(cursor: Cursor, draft: Draft) -> Handle:
    """Create a version for a draft, and a document if there is none yet."""
    cursor.run("make_user")
    cursor.run("put_collection", name=draft.collection, chunker=None, chunker_options=None, system_prompt=None)
    version = int(cursor.value("make_version", collection=draft.collection, file_hash=draft.file_hash))
    if draft.replaces is not None:
        draft.document_id, pk = draft.replaces.document.id, draft.replaces.pk
    else:
        pk = _make_document(cursor, draft)
    return Handle(pk, version, TextWriter(version))


def _make_document(cursor: Cursor, draft: Draft) -> int:
    """Create a document without a published version."""
    (draft.document_id,) = documents.free_ids(cursor, [draft])
    names = ("collection", "source", "filename", "file_hash", "status")
    values = {name: getattr(draft, name) for name in names}
    metadata = Json(dict(draft.metadata))
    pk = cursor.value("make_document", id=draft.document_id, bytes=draft.size, metadata=metadata, **values)
    documents.add_source(cursor, draft.collection, draft.source, pk)
    return int(pk)
