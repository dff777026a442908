"""Writes drafts: text and chunks as they come, and the one step by which documents begin to be served."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from footnotes.errors import GenerationReplaced, StoreLocked
from footnotes.store import near
from footnotes.store.postgres import chunks, documents, statistics
from footnotes.store.postgres.chunks import NewRow, Where
from footnotes.store.postgres.claiming import Handle
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.persistence import persistently
from footnotes.store.postgres.rows import document_row
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.texts import WHOLE, SpanReader, TextRows, TextWriter
from footnotes.store.records import DocumentRow, Draft, Generation, NewChunk, Publication
from footnotes.store.weights import Averages
from footnotes.types import Part

VectorOf = Callable[[bytes], Any]


@dataclass(slots=True)
class _Work:
    """A draft with its chunks analysed, and where its text stands after this attempt."""

    draft: Draft
    handle: Handle
    rows: list[NewRow]
    writer: TextWriter

    @property
    def publication(self) -> Publication:
        assert self.draft.publication is not None
        return self.draft.publication

    @property
    def is_whole(self) -> bool:
        """Whether all of a text that is not large came at once."""
        what = self.draft.publication
        return what is not None and not self.handle.opened and what.characters <= WHOLE


def save(
    database: Database, user_id: str, holder: int, generation: Generation, drafts: Sequence[Draft], vectors: VectorOf
) -> None:
    """Write what claimed drafts have buffered, in one transaction; publish those that are complete."""
    works = [_work(draft) for draft in drafts]
    averages = chunks.averages_for(database, user_id, generation.pk, [row for work in works for row in work.rows])
    while works:

        def attempt(works: Sequence[_Work] = works) -> None:
            with database.transaction(user_id) as connection:
                _write(connection, user_id, holder, generation, works, averages, vectors)

        try:
            persistently(attempt)
            break
        except StoreLocked:
            # A document may have been deleted meanwhile, or another one made of the same bytes: the rest goes on.
            kept = [work for work in works if not _is_lost(database, user_id, holder, work)]
            if len(kept) == len(works):
                raise
            works = kept
    for work in works:
        work.handle.writer, work.handle.opened = work.writer, True


def _write(
    connection: Connection,
    user_id: str,
    holder: int,
    generation: Generation,
    works: Sequence[_Work],
    averages: Averages,
    vectors: VectorOf,
) -> None:
    for work in works:
        work.writer = copy.deepcopy(work.handle.writer)
    before = _entered(connection, user_id, holder, generation, works)
    _write_texts(connection, user_id, works)
    rows = [(_where(generation, work), row) for work in works for row in work.rows]
    chunks.put(connection, user_id, generation.model, rows, averages, vectors)
    if complete := [work for work in works if work.draft.publication is not None]:
        _publish(connection, user_id, holder, generation, complete, before)


def _is_lost(database: Database, user_id: str, holder: int, work: _Work) -> bool:
    """Whether a draft cannot be written any more: its document is gone, or its bytes are another's by now."""
    draft = work.draft
    with database.transaction(user_id) as connection:
        if not connection.fetch(queries()["held"], user_id, holder, [work.handle.pk]):
            draft.refused = StoreLocked(f"the document of {draft.source} was deleted while it was written").info()
            return True
        other = documents.find_by_hash(connection, user_id, draft.collection, draft.file_hash)
        if other is None or other.pk == work.handle.pk:
            return False
        discard(connection, user_id, holder, work.handle)
        draft.elsewhere = other.pk
        return True


def _work(draft: Draft) -> _Work:
    title = draft.publication.title if draft.publication is not None else draft.title
    return _Work(draft, draft.handle, chunks.analyzed(draft.chunks, _Texts(draft.parts).read, title), TextWriter(0))


class _Texts:
    """The text of chunks, which come in order and never cross a part."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._at = 0

    def read(self, start: int, end: int) -> str:
        if self._at and start < self._parts[self._at].start:
            self._at = 0
        while self._parts[self._at].end < end:
            self._at += 1
        part = self._parts[self._at]
        return part.text[start - part.start : end - part.start]


def _entered(
    connection: Connection, user_id: str, holder: int, generation: Generation, works: Sequence[_Work]
) -> dict[int, int | None]:
    """See that the generation serves and that the documents are still the writer's. Returns what they served before.

    Whoever switches generations waits for this transaction, and the other way round.
    """
    connection.execute(queries()["share_tenant"], user_id)
    if connection.value(queries()["generation_state"], user_id, generation.pk) != "serving":
        raise GenerationReplaced("the library was indexed anew meanwhile")
    pks = [work.handle.pk for work in works]
    before = {row["pk"]: row["current"] for row in connection.fetch(queries()["held"], user_id, holder, pks)}
    if len(before) < len(works):
        raise StoreLocked("a document was deleted, or taken over by another writer, while it was written")
    return before


def _where(generation: Generation, work: _Work) -> Where:
    number = generation.pk if work.draft.publication is not None else -generation.pk
    return Where(number, work.handle.pk, work.draft.document_id, work.handle.version)


def _write_texts(connection: Connection, user_id: str, works: Sequence[_Work]) -> None:
    rows = TextRows()
    for work in works:
        for part in work.draft.parts:
            (work.writer.add_part if work.is_whole else work.writer.add)(part, rows)
        if work.draft.publication is not None and not work.is_whole:
            work.writer.finish(rows)
    rows.write(connection, user_id)


def _publish(
    connection: Connection,
    user_id: str,
    holder: int,
    generation: Generation,
    works: Sequence[_Work],
    before: dict[int, int | None],
) -> None:
    """Serve these versions from now on: `embedding` while they lack vectors, `indexing` until that is said."""
    versions = [work.handle.version for work in works]
    if any(work.handle.opened for work in works):
        connection.execute(queries()["serve_chunks"], user_id, generation.pk, versions)
    lacking = connection.fetch(queries()["versions_lacking_vectors"], user_id, generation.pk, versions)
    for work in works:
        work.draft.waits = work.handle.version in {row[0] for row in lacking}
    rows = _describe(connection, user_id, holder, generation, works)
    connection.execute(queries()["finish_versions"], user_id, versions)
    for work in works:
        if not work.is_whole and work.publication.characters <= WHOLE:
            connection.execute(queries()["gather_text"], user_id, work.handle.version)
        if (old := before[work.handle.pk]) is not None:
            documents.drop_version(connection, user_id, old)
    statistics.count(connection, user_id, generation.pk, versions, 1)
    _relate(connection, user_id, generation, works, before, rows)
    connection.execute(queries()["bump"], user_id)


def _describe(
    connection: Connection, user_id: str, holder: int, generation: Generation, works: Sequence[_Work]
) -> list[DocumentRow]:
    columns = [list(column) for column in zip(*map(_described, works), strict=True)]
    made = (generation.embedder, generation.dimensions)
    rows = connection.fetch(queries()["publish_documents"], user_id, holder, *made, *columns)
    return [document_row(row) for row in rows]


def _described(work: _Work) -> tuple[Any, ...]:
    draft, what = work.draft, work.publication
    content = clean("".join(part.text for part in draft.parts)) if work.is_whole else None
    return (
        work.handle.pk,
        *(clean(draft.source), clean(draft.filename), draft.file_hash, what.mime, clean(what.title)),
        *("embedding" if draft.waits else "indexing", draft.size, what.characters, what.pages, what.chunks),
        *(_json(what.metadata), _json(what.warnings)),
        *(draft.ingestion_version, work.handle.version, content),
    )


def _relate(
    connection: Connection,
    user_id: str,
    generation: Generation,
    works: Sequence[_Work],
    before: dict[int, int | None],
    rows: Sequence[DocumentRow],
) -> None:
    """Facets, sources, resemblances, and what the generation knows of the documents."""
    new = [row for row in rows if before[row.pk] is None]
    again = [row for row in rows if before[row.pk] is not None]
    for listed, fresh in ((new, True), (again, False)):
        if listed:
            documents.put_facets(connection, user_id, listed, new=fresh)
    places = [(clean(work.draft.collection), clean(work.draft.source), work.handle.pk) for work in works]
    connection.execute(queries()["put_sources"], user_id, *(list(column) for column in zip(*places, strict=True)))
    planned = [(work.handle.pk, work.draft.ingestion_version, work.publication.chunks) for work in works]
    columns = [list(column) for column in zip(*planned, strict=True)]
    connection.execute(queries()["put_planned"], user_id, generation.pk, *columns)
    cursor = PostgresCursor(connection, user_id)
    for work in works:
        collection, is_new = clean(work.draft.collection), before[work.handle.pk] is None
        work.draft.near_duplicate_of = near.put(cursor, collection, work.handle.pk, work.draft.sketch, new=is_new)


def discard(connection: Connection, user_id: str, holder: int, handle: Handle) -> None:
    """Remove what an abandoned draft has written, and let its document go."""
    connection.execute(queries()["drop_versions"], user_id, [handle.version])
    connection.execute(queries()["let_go_document"], user_id, handle.pk, holder)


def _json(value: Any) -> str:
    return json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False)


def save_reindexed(
    database: Database,
    user_id: str,
    generation: Generation,
    row: DocumentRow,
    made: Sequence[NewChunk],
    version: str,
    vectors: VectorOf,
) -> None:
    """The chunks of a document in a generation that does not serve yet, in one transaction."""
    assert row.current is not None
    with database.raw_snapshot(user_id) as connection:
        reader = SpanReader(connection, user_id, row.current, row.document.characters)
        rows = chunks.analyzed(made, reader.read, row.document.title)
    averages = chunks.averages_for(database, user_id, generation.pk, rows)
    where = Where(generation.pk, row.pk, row.document.id, row.current)

    def attempt() -> None:
        with database.transaction(user_id) as connection:
            connection.execute(queries()["share_tenant"], user_id)
            (now,) = documents.locked(connection, user_id, [row.document.id]) or (None,)
            if now is None or now.current != row.current:
                return  # it was deleted or replaced meanwhile: what is there now is filled in the next round
            statistics.count(connection, user_id, generation.pk, [where.version], -1)
            connection.execute(queries()["drop_chunks_of"], user_id, generation.pk, where.version)
            chunks.put(connection, user_id, generation.model, [(where, each) for each in rows], averages, vectors)
            statistics.count(connection, user_id, generation.pk, [where.version], 1)
            connection.execute(queries()["put_planned"], user_id, generation.pk, [row.pk], [version], [len(made)])

    persistently(attempt)
