"""Documents: found by id, bytes or source; indexed for filters, and removed with all their data."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from footnotes.errors import NotFound
from footnotes.store import chunks, generations, near, texts
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Json, Row
from footnotes.store.facets import facets_of
from footnotes.store.filters import asks_chunks
from footnotes.store.naming import document_id, source_mark
from footnotes.store.records import DocumentRow, Draft, Generation
from footnotes.store.retry import retrying
from footnotes.store.rows import document_row, packed_error
from footnotes.types import Chunk, Document, ErrorInfo, Filter, Metadata, NearDuplicate, Part

Key = Literal["hash", "source"]
"""What to find documents by: the hash of their bytes, or one of their sources."""
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 1.0


def find(cursor: Cursor, document_id: str) -> DocumentRow | None:
    return _one(cursor.one("document", id=document_id))


def find_by_hash(cursor: Cursor, collection: str, file_hash: str) -> DocumentRow | None:
    return _one(cursor.one("document_by_hash", collection=collection, file_hash=file_hash))


def find_by(cursor: Cursor, collection: str, key: Key, values: Collection[str]) -> dict[str, DocumentRow]:
    """Return the documents of a collection that have one of these hashes or sources, by it."""
    if key == "hash":
        rows = cursor.all("documents_by_hashes", collection=collection, hashes=list(values))
        return {row.document.file_hash: row for row in map(document_row, rows)}
    rows = cursor.all("documents_by_sources", collection=collection, sources=list(values))
    return {row["known_as"]: document_row(row) for row in rows}


def get(cursor: Cursor, document_id: str) -> DocumentRow:
    """Return a document by id. Raises `NotFound` if there is none."""
    row = find(cursor, document_id)
    if row is None:
        raise NotFound(f"there is no document {document_id!r}")
    return row


def get_current(cursor: Cursor, document_id: str) -> tuple[DocumentRow, int]:
    """Return a document that has a text, and its published version."""
    row = get(cursor, document_id)
    if row.current is None:
        raise _without_text(row.document)
    return row, row.current


def _without_text(document: Document) -> NotFound:
    """Return the error that explains why a listed document has no text."""
    cause = document.error
    if cause is None:
        return NotFound(f"{document.filename} has no text yet: it is {document.status}", remedy="Try again later.")
    message = f"{document.filename} has no text, it could not be ingested: {cause.message} ({cause.code})"
    return NotFound(message, remedy=cause.remedy)


def by_key(cursor: Cursor, keys: Sequence[int]) -> list[DocumentRow]:
    return [document_row(row) for row in cursor.all("documents_by_key", keys=list(keys))]


def locked(cursor: Cursor, document_ids: Sequence[str]) -> list[DocumentRow]:
    """Lock documents by id until the transaction ends, and return their current rows."""
    return [document_row(row) for row in cursor.all("documents_locked", ids=list(document_ids))]


def listed(cursor: Cursor, where: Filter | None, limit: int | None, offset: int) -> list[DocumentRow]:
    """Return documents that pass the filter, in the order they were added."""
    query = "documents_by_chunk" if where is not None and asks_chunks(where) else "documents"
    return [document_row(row) for row in cursor.all(query, where, limit=limit, offset=offset)]


def free_ids(cursor: Cursor, drafts: Sequence[Draft]) -> list[str]:
    """Return an unused id for each draft; if content returns after an edit, the attempt number makes its id unique."""
    attempts = [0] * len(drafts)
    while True:
        places = zip(drafts, attempts, strict=True)
        ids = [document_id(cursor.user_id, draft.collection, draft.file_hash, attempt) for draft, attempt in places]
        taken = {row["id"] for row in cursor.all("taken_ids", ids=ids)}
        if not taken:
            return ids
        attempts = [attempt + (each in taken) for attempt, each in zip(attempts, ids, strict=True)]


def set_failed(cursor: Cursor, pk: int, error: ErrorInfo) -> None:
    """Record why a document failed. A published one keeps its state."""
    cursor.run("set_failed", document=pk, error=packed_error(error))
    put_facets(cursor, [row for row in by_key(cursor, [pk]) if row.document.status == "failed"])


def set_metadata(cursor: Cursor, pk: int, metadata: Metadata) -> None:
    cursor.run("set_metadata", document=pk, metadata=Json(dict(metadata)))


def put_facets(cursor: Cursor, rows: Sequence[DocumentRow], *, new: bool = False) -> None:
    """Rewrite the facets of documents."""
    if not new:
        cursor.run("drop_facets", documents=[row.pk for row in rows])
    cursor.many(
        "put_facets",
        [
            {"key": facet.key, "text": facet.text, "number": facet.number, "document": row.pk}
            for row in rows
            for facet in facets_of(row.document)
        ],
    )


def add_source(cursor: Cursor, collection: str, source: str, pk: int) -> None:
    cursor.many("put_sources", [{"collection": collection, "source": source, "document": pk}])


def drop_source(cursor: Cursor, collection: str, source: str) -> None:
    cursor.run("drop_source", collection=collection, source=source)


def sources(cursor: Cursor, pk: int) -> list[str]:
    return [row["source"] for row in cursor.all("sources_of", document=pk)]


def marks(cursor: Cursor, rows: Sequence[DocumentRow]) -> list[str]:
    """Return marks of their sources, so that unfinished jobs skip them."""
    return [
        source_mark(row.document.collection, source)
        for row in rows
        for source in {row.document.source, *sources(cursor, row.pk)}
    ]


def drop_versions(cursor: Cursor, versions: Sequence[int], *, leg: str = "") -> None:
    """Remove versions with their chunks and unused vectors, and log it for the legs."""
    cursor.run("note_removal", versions=list(versions), leg=leg)
    cursor.run("drop_vectors_of", versions=list(versions))
    cursor.run("drop_versions", versions=list(versions))


def drop(cursor: Cursor, rows: Sequence[DocumentRow]) -> None:
    """Remove documents and everything derived from them; of answers that quote them only the question stays."""
    keys, ids = [row.pk for row in rows], [row.document.id for row in rows]
    led = [source for row in rows for source in {row.document.source, *sources(cursor, row.pk)}]
    cursor.run("drop_jobs_of", ids=ids, sources=led)
    cursor.run("forget_quotes", documents=ids)
    cursor.run("drop_quotes", documents=ids)
    for row in rows:
        near.drop(cursor, row.document.collection, row.pk)
    drop_versions(cursor, [row["version"] for row in cursor.all("versions_of_documents", documents=keys)])
    cursor.run("drop_documents", documents=keys)


def _one(row: Row | None) -> DocumentRow | None:
    return None if row is None else document_row(row)


class Documents:
    """The documents of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """Return a document by id. Raises `NotFound` if there is none."""
        with self._core.database.read(user_id) as cursor:
            return get(cursor, document_id)

    def find_by(self, user_id: str, collection: str, key: Key, values: Collection[str]) -> dict[str, DocumentRow]:
        """Return the documents of a collection that have one of these hashes or sources, by it."""
        with self._core.database.read(user_id) as cursor:
            return find_by(cursor, collection, key, values)

    def all(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Return documents that pass the filter, in the order they were added."""
        with self._core.database.read(user_id) as cursor:
            return [row.document for row in listed(cursor, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Return the canonical text of a document, or a span of it."""
        with self._core.database.snapshot(user_id) as cursor:
            row, version = get_current(cursor, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            return texts.read_span(cursor, version, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """Yield the parsed parts one at a time, because a document may be larger than memory."""
        with self._core.database.keep_state(user_id):
            with self._core.database.read(user_id) as cursor:
                _, version = get_current(cursor, document_id)
            yield from texts.read_parts(self._core.database, user_id, version)

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        """Return the chunks of a document, each with its own or the document's language."""
        with self._core.database.snapshot(user_id) as cursor:
            row, _ = get_current(cursor, document_id)
            generation = generations.serving(cursor)
            found = [] if generation is None else chunks.of_document(cursor, generation.pk, row.pk)
        language = row.document.metadata.get("language")
        return [replace(chunk, language=chunk.metadata.get("language", language)) for chunk in found]

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self._core.database.read(user_id) as cursor:
            return sources(cursor, get(cursor, document_id).pk)

    def near_duplicates(self, user_id: str) -> dict[str, NearDuplicate]:
        """Return the near-duplicates of other documents, by id."""
        with self._core.database.read(user_id) as cursor:
            return near.near_duplicates(cursor)

    def counts(self, user_id: str) -> dict[str, Any]:
        with self._core.database.snapshot(user_id) as cursor:
            found = cursor.one("counts")
            by_status = {row["status"]: row["documents"] for row in cursor.all("counts_by_status")}
            alike, waiting = cursor.value("count_near_duplicates"), cursor.value("count_waiting")
        assert found is not None
        return {**dict(found), "by_status": by_status, "near_duplicates": alike, "waiting": waiting}

    @retrying
    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """Add a source with the same bytes to a document, and take over its metadata."""
        merged = {**row.document.metadata, **metadata}
        if merged == dict(row.document.metadata):
            with self._core.database.write(user_id) as cursor:
                _put_source(cursor, row, source)
            return
        with self._core.changing(user_id) as cursor:
            _put_source(cursor, row, source)
            set_metadata(cursor, row.pk, merged)
            put_facets(cursor, by_key(cursor, [row.pk]))
            cursor.run("note_change", document=row.pk)
        self._core.after_change(user_id, removed=False)

    @retrying
    def delete(self, user_id: str, document_ids: Sequence[str], *, collection: str | None = None) -> None:
        """Delete documents, all or none: rows, unused vectors, entries in both indexes, kept files.

        Unfinished jobs skip their sources from now on. With `collection`, delete also its name, its prompt, and the
        records of its sources; all its documents must be among those deleted.
        """
        wanted = list(dict.fromkeys(document_ids))
        if not wanted and collection is None:
            return
        with self._core.changing(user_id) as cursor:
            rows = locked(cursor, wanted)
            if missing := set(wanted) - {row.document.id for row in rows}:
                raise NotFound(f"there is no document {next(id_ for id_ in wanted if id_ in missing)!r}")
            cursor.run("leave_out", marks=marks(cursor, rows))
            drop(cursor, rows)
            if collection is not None:
                generations.drop_collection(cursor, collection)
        self._core.after_change(user_id, removed=True)

    def save(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction, and empty their buffers. Complete ones are published, and replace the
        previous version.

        A draft whose document another live writer holds is not written, and gets the reason.
        """
        self._core.save_drafts(user_id, generation, drafts)
        for draft in drafts:
            draft.parts, draft.chunks = [], []

    def is_claimed_by_another(self, user_id: str, pk: int, *, wait: bool = False) -> bool:
        """Return whether another live writer holds a document; with `wait`, return when none does."""
        pause = _FIRST_LOOK
        while (is_claimed := self._is_claimed_by_another(user_id, pk)) and wait:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK)
        return is_claimed

    def _is_claimed_by_another(self, user_id: str, pk: int) -> bool:
        holder = self._core.holder(user_id)
        with self._core.database.read(user_id) as cursor:
            return cursor.value("is_claimed_by_another", holder=holder, document=pk) is not None


def _put_source(cursor: Cursor, row: DocumentRow, source: str) -> None:
    if not cursor.run("put_source_of_document", document=row.pk, source=source):
        raise NotFound(f"there is no document {row.document.id!r}")
