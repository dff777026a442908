"""Documents: found, read, saved and removed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from footnotes.errors import NotFound
from footnotes.store import chunks, documents, generations, near, texts
from footnotes.store.database import Cursor
from footnotes.store.groups.core import Core
from footnotes.store.records import DocumentRow, Draft, Generation
from footnotes.store.retry import retrying
from footnotes.types import Chunk, Document, ErrorInfo, Filter, Metadata, NearDuplicate, Part

_FIRST_LOOK, _LONGEST_LOOK = 0.02, 1.0


class Documents:
    """The documents of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id; `NotFound` where there is none."""
        with self._core.database.read(user_id) as cursor:
            return documents.get(cursor, document_id)

    def find_by_hash(self, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
        with self._core.database.read(user_id) as cursor:
            return documents.find_by_hash(cursor, collection, file_hash)

    def find_by_source(self, user_id: str, collection: str, source: str) -> DocumentRow | None:
        with self._core.database.read(user_id) as cursor:
            return documents.find_by_source(cursor, collection, source)

    def find_together(
        self, user_id: str, collection: str, hashes: Sequence[str], sources: Sequence[str]
    ) -> tuple[dict[str, DocumentRow], dict[str, DocumentRow]]:
        """The documents with some bytes, by their hashes, and those of some sources."""
        with self._core.database.snapshot(user_id) as cursor:
            by_hash = documents.find_by_hashes(cursor, collection, hashes)
            return by_hash, documents.find_by_sources(cursor, collection, sources)

    def all(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Documents in the order they came, those that pass the filter."""
        with self._core.database.read(user_id) as cursor:
            return [row.document for row in documents.listed(cursor, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        with self._core.database.snapshot(user_id) as cursor:
            row, version = documents.get_current(cursor, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            return texts.read_span(cursor, version, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """The parts of a document as its parser gave them, one at a time: a document may be larger than memory."""
        with self._core.database.keep_state(user_id):
            with self._core.database.read(user_id) as cursor:
                _, version = documents.get_current(cursor, document_id)
            yield from texts.read_parts(self._core.database, user_id, version)

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        with self._core.database.snapshot(user_id) as cursor:
            row, _ = documents.get_current(cursor, document_id)
            generation = generations.serving(cursor)
            return [] if generation is None else chunks.of_document(cursor, generation.pk, row.pk)

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self._core.database.read(user_id) as cursor:
            return documents.sources(cursor, documents.get(cursor, document_id).pk)

    def near_duplicates(self, user_id: str) -> dict[str, NearDuplicate]:
        """Every document that nearly equals another, by its id."""
        with self._core.database.read(user_id) as cursor:
            return near.near_duplicates(cursor)

    def counts(self, user_id: str) -> dict[str, Any]:
        with self._core.database.snapshot(user_id) as cursor:
            found = cursor.one("counts")
            by_status = {row["status"]: row["documents"] for row in cursor.all("counts_by_status")}
            alike = cursor.value("count_near_duplicates")
        assert found is not None
        return {**dict(found), "by_status": by_status, "near_duplicates": alike}

    @retrying
    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """The same bytes came again: remember the source, and take its metadata over."""
        merged = {**row.document.metadata, **metadata}
        if merged == dict(row.document.metadata):
            with self._core.database.write(user_id) as cursor:
                _put_source(cursor, row, source)
            return
        with self._core.changing(user_id) as cursor:
            _put_source(cursor, row, source)
            documents.set_metadata(cursor, row.pk, merged)
            documents.put_facets(cursor, documents.by_key(cursor, [row.pk]))
            cursor.run("note_change", document=row.pk)
        self._core.after_change(user_id, removed=False)

    @retrying
    def forget_source(self, user_id: str, collection: str, source: str) -> None:
        """A source no longer leads anywhere; its document goes when it was the last one."""
        row = self.find_by_source(user_id, collection, source)
        if row is None:
            return
        with self._core.changing(user_id) as cursor:
            found = documents.locked(cursor, [row.document.id])
            documents.drop_source(cursor, collection, source)
            last = bool(found) and not documents.sources(cursor, row.pk)
            if last:
                documents.drop(cursor, found)
        if last:
            self._core.after_change(user_id, removed=True)

    @retrying
    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, entries in both indexes, kept files.

        Work that is not done leaves their sources out from now on.
        """
        wanted = list(dict.fromkeys(document_ids))
        if not wanted:
            return
        with self._core.changing(user_id) as cursor:
            rows = documents.locked(cursor, wanted)
            if missing := set(wanted) - {row.document.id for row in rows}:
                raise NotFound(f"there is no document {next(id_ for id_ in wanted if id_ in missing)!r}")
            cursor.run("leave_out", marks=documents.marks(cursor, rows))
            documents.drop(cursor, rows)
        self._core.after_change(user_id, removed=True)

    def save(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, and replace the version before them."""
        self._core.save_drafts(user_id, generation, drafts)

    def discard(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""
        self._core.discard_draft(user_id, draft, error)

    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """Whether another living writer is at a document."""
        return self._core.is_held_elsewhere(user_id, pk)

    def await_settled(self, user_id: str, pk: int) -> None:
        """Wait until no other living writer is at a document."""
        wait = _FIRST_LOOK
        while self._core.is_held_elsewhere(user_id, pk):
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_LOOK)


def _put_source(cursor: Cursor, row: DocumentRow, source: str) -> None:
    if not cursor.run("put_source_of_document", document=row.pk, source=source):
        raise NotFound(f"there is no document {row.document.id!r}")
