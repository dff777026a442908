"""Writes many new documents in one go: keys are assigned first, and each table is written once.

All of them are complete and new. A next version of a document, or one written in pieces, has a step between its rows
and its publication; see `saving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from footnotes.store import documents, near
from footnotes.store.chunks import missing_vectors
from footnotes.store.facets import facets_of
from footnotes.store.packing import PIECE, pack_blocks, pack_json
from footnotes.store.records import Draft, Generation, Publication
from footnotes.store.rows import published_values
from footnotes.store.sqlite import chunks, staging
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.texts import Handle, TextWriter
from footnotes.types import Document


@dataclass(frozen=True, slots=True)
class _New:
    """A draft with its assigned keys."""

    draft: Draft
    what: Publication
    pk: int
    version: int


def is_new(draft: Draft) -> bool:
    """Return whether a draft is a complete document without any rows yet."""
    return draft.publication is not None and draft.handle is None and draft.replaces is None and draft.error is None


def save_new(cursor: SqliteCursor, generation: Generation, drafts: Sequence[Draft]) -> None:
    """Write new documents in order, and publish them."""
    cursor.run("make_user")
    for name in dict.fromkeys(draft.collection for draft in drafts):
        cursor.run("put_collection", name=name, chunker=None, chunker_options=None, system_prompt=None)
    for draft, document_id in zip(drafts, documents.free_ids(cursor, drafts), strict=True):
        draft.document_id = document_id
    (last_document, last_version), *_ = cursor.rows("last_keys")
    keys = zip(drafts, count(last_document + 1), count(last_version + 1), strict=False)
    new = [_New(draft, draft.publication, pk, version) for draft, pk, version in keys if draft.publication]
    _mark_waiting(cursor, generation, drafts)
    at = staging.now()
    _put_documents(cursor, generation, new, at)
    _put_texts(cursor, new)
    where = [(cursor.user_id, generation.pk, each.pk, each.version) for each in new]
    rows = (chunks.row(at, chunk) for at, each in zip(where, new, strict=True) for chunk in each.draft.chunks)
    cursor.insert("put_chunks", rows)
    cursor.insert("note_chunks", [(cursor.user_id, generation.pk, each.pk) for each in new])
    _put_sketches(cursor, new)
    for each in new:
        each.draft.handle = Handle(each.pk, each.version, TextWriter(each.version))


def _mark_waiting(cursor: SqliteCursor, generation: Generation, drafts: Sequence[Draft]) -> None:
    hashes = [chunk.input_hash for draft in drafts for chunk in draft.chunks]
    missing = set(missing_vectors(cursor, generation.model, hashes))
    for draft in drafts:
        draft.waits = any(chunk.input_hash in missing for chunk in draft.chunks)


def _put_documents(cursor: SqliteCursor, generation: Generation, new: Sequence[_New], at: str) -> None:
    user_id, found = cursor.user_id, [(each, _document(each, generation, at)) for each in new]
    versions = [(user_id, one.version, one.draft.collection, one.draft.file_hash, at) for one in new]
    cursor.insert("put_versions", versions)
    cursor.insert("put_documents", [(user_id, each.pk, *_columns(each, document)) for each, document in found])
    cursor.insert("put_sources", [(user_id, one.draft.collection, one.draft.source, one.pk) for one in new])
    cursor.insert(
        "put_facets", [(user_id, *facet, each.pk) for each, document in found for facet in facets_of(document)]
    )
    rows = [(user_id, generation.pk, one.pk, one.draft.ingestion_version, one.what.chunks) for one in new]
    cursor.insert("put_planned", rows)


def _document(new: _New, generation: Generation, at: str) -> Document:
    return Document(
        id=new.draft.document_id,
        collection=new.draft.collection,
        **published_values(new.draft),
        embedding_model=generation.embedder,
        embedding_dim=generation.dimensions,
        version=1,
        created_at=at,
        updated_at=at,
    )


def _columns(new: _New, document: Document) -> tuple[object, ...]:
    return (
        document.id,
        document.collection,
        document.source,
        document.filename,
        document.file_hash,
        document.mime,
        document.title,
        document.status,
        document.bytes,
        document.characters,
        document.pages,
        document.chunks,
        pack_json(dict(document.metadata)),
        pack_json(list(document.warnings)),
        document.embedding_model,
        document.embedding_dim,
        document.ingestion_version,
        new.version,
        document.created_at,
    )


def _put_texts(cursor: SqliteCursor, new: Sequence[_New]) -> None:
    pieces: list[tuple[int, int, str]] = []
    parts: list[tuple[int, int, int, int, str]] = []
    for each in new:
        held, version = each.draft.parts, each.version
        text = held[0].text if len(held) == 1 else "".join(part.text for part in held)
        starts = range(0, len(text), PIECE)
        pieces.extend((version, number, text[start : start + PIECE]) for number, start in enumerate(starts))
        parts.extend(
            (version, number, part.start, len(part.text), pack_blocks(part.blocks)) for number, part in enumerate(held)
        )
    cursor.insert("put_texts", pieces)
    cursor.insert("put_parts", parts)


def _put_sketches(cursor: SqliteCursor, new: Sequence[_New]) -> None:
    """Store the sketches of documents, and set the earlier near-duplicate of each, if any."""
    sketched = [(each.draft, each.draft.sketch, each.pk) for each in new if each.draft.sketch is not None]
    sketches = [
        near.SketchDraft(draft.collection, pk, draft.document_id, draft.filename, sketch)
        for draft, sketch, pk in sketched
    ]
    for (draft, _, _), alike in zip(sketched, near.put_new(cursor, sketches), strict=True):
        draft.near_duplicate_of = alike
