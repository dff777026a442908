"""Writes drafts: text and chunks as they come, and the publication of documents in one step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from footnotes.errors import GenerationReplaced, StoreLocked
from footnotes.store import documents, generations, near
from footnotes.store.database import Cursor
from footnotes.store.postgres import chunks
from footnotes.store.postgres.chunks import ChunkRow, Where
from footnotes.store.postgres.clean import clean
from footnotes.store.postgres.cursor import PostgresCursor, pack_json
from footnotes.store.postgres.database import Database
from footnotes.store.postgres.statistics import TermCounts
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation, Publication
from footnotes.store.retry import retry, retrying
from footnotes.store.rows import document_row, published_values
from footnotes.store.texts import Handle, SpanReader, TextRows, TextWriter
from footnotes.store.weights import Averages
from footnotes.types import Part

WHOLE = 250_000
"""Texts of up to this many characters are stored whole; longer ones allow reading a span without the rest."""
VectorOf = Callable[[bytes], object]


@dataclass(slots=True)
class _Work:
    """A draft with its analysed chunks and those to come, and the state of its text after this attempt."""

    draft: Draft
    handle: Handle
    rows: list[ChunkRow]
    to_come: Iterator[ChunkRow]
    writer: TextWriter

    def analyzed(self) -> Iterator[ChunkRow]:
        """Yield all chunks; each is analysed once, for the first caller that needs it."""
        yield from self.rows
        for row in self.to_come:
            self.rows.append(row)
            yield row

    @property
    def publication(self) -> Publication:
        assert self.draft.publication is not None
        return self.draft.publication

    @property
    def is_whole(self) -> bool:
        """Whether all of a short text came at once."""
        what = self.draft.publication
        return what is not None and not self.handle.opened and what.characters <= WHOLE


def save(
    database: Database, user_id: str, holder: int, generation: Generation, drafts: Sequence[Draft], vectors: VectorOf
) -> None:
    """Write the buffers of claimed drafts in one transaction, and publish complete drafts."""
    works = [_work(draft) for draft in drafts]
    rows = (row for work in works for row in work.analyzed())
    averages = chunks.averages_for(database, user_id, generation.pk, rows)
    while works:

        def attempt(works: Sequence[_Work] = works) -> None:
            with database.write(user_id) as cursor:
                _write(cursor, holder, generation, works, averages, vectors)

        try:
            retry(attempt)
            break
        except StoreLocked:
            # A document may have been deleted, or another one made from the same bytes: continue with the rest.
            kept = [work for work in works if not _is_lost(database, user_id, holder, work)]
            if len(kept) == len(works):
                raise
            works = kept
    for work in works:
        work.handle.writer, work.handle.opened = work.writer, True


def _write(
    cursor: PostgresCursor,
    holder: int,
    generation: Generation,
    works: Sequence[_Work],
    averages: Averages,
    vectors: VectorOf,
) -> None:
    for work in works:
        work.writer = copy.deepcopy(work.handle.writer)
    before = _check_claims(cursor, holder, generation, works)
    _write_texts(cursor, works)
    rows = ((where, row) for work in works for where in [_where(generation, work)] for row in work.analyzed())
    complete = [work for work in works if work.draft.publication is not None]
    counts = TermCounts({work.handle.version for work in complete if not work.handle.opened})
    chunks.put(cursor, generation.model, rows, averages, vectors, counts)
    if complete:
        counts.write(cursor, generation.pk)
        _publish(cursor, holder, generation, complete, before)


def _is_lost(database: Database, user_id: str, holder: int, work: _Work) -> bool:
    """Return whether a draft can no longer be written: its document is gone, or another one has its bytes now."""
    draft = work.draft
    with database.write(user_id) as cursor:
        if not cursor.all("held", holder=holder, documents=[work.handle.pk]):
            draft.refused = StoreLocked(f"the document of {draft.source} was deleted while it was written").info()
            return True
        other = documents.find_by_hash(cursor, draft.collection, draft.file_hash)
        if other is None or other.pk == work.handle.pk:
            return False
        discard(cursor, holder, work.handle)
        draft.claimed_pk = other.pk
        return True


def _work(draft: Draft) -> _Work:
    title = draft.publication.title if draft.publication is not None else draft.title
    rows = chunks.analyzed(draft.chunks, _Texts(draft.parts).read, chunks.Named(title, draft.filename))
    return _Work(draft, draft.handle, [], rows, TextWriter(0))


class _Texts:
    """Reads the text of chunks, which come in order and never cross a part."""

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


def _check_claims(cursor: Cursor, holder: int, generation: Generation, works: Sequence[_Work]) -> dict[int, int | None]:
    """Check that the generation serves and the writer still holds the documents. Return their published versions.

    A switch of generations and this transaction wait for each other.
    """
    cursor.run("share_tenant")
    if cursor.value("generation_state", generation=generation.pk) != "serving":
        raise GenerationReplaced("the library was indexed again meanwhile")
    pks = [work.handle.pk for work in works]
    before = {row["pk"]: row["current"] for row in cursor.all("held", holder=holder, documents=pks)}
    if len(before) < len(works):
        raise StoreLocked("a document was deleted, or taken over by another writer, while it was written")
    return before


def _where(generation: Generation, work: _Work) -> Where:
    number = generation.pk if work.draft.publication is not None else -generation.pk
    return Where(number, work.handle.pk, work.draft.document_id, work.handle.version)


def _write_texts(cursor: Cursor, works: Sequence[_Work]) -> None:
    rows = TextRows()
    for work in works:
        for part in work.draft.parts:
            (work.writer.add_part if work.is_whole else work.writer.add)(part, rows)
        if work.draft.publication is not None and not work.is_whole:
            work.writer.finish(rows)
    rows.write(cursor)


def _publish(
    cursor: Cursor,
    holder: int,
    generation: Generation,
    works: Sequence[_Work],
    before: dict[int, int | None],
) -> None:
    """Publish these versions: as `embedding` if they lack vectors, else as `indexing` until marked ready."""
    versions = [work.handle.version for work in works]
    if opened := [work.handle.version for work in works if work.handle.opened]:
        cursor.run("serve_chunks", generation=generation.pk, versions=opened)
        cursor.run("note_chunks", generation=generation.pk, versions=opened)
    lacking = cursor.all("versions_lacking_vectors", generation=generation.pk, versions=versions)
    for work in works:
        work.draft.waits = work.handle.version in {row["version"] for row in lacking}
    rows = _describe(cursor, holder, generation, works)
    cursor.run("finish_versions", versions=versions)
    for work in works:
        if not work.is_whole and work.publication.characters <= WHOLE:
            cursor.run("gather_text", version=work.handle.version)
        if (old := before[work.handle.pk]) is not None:
            documents.drop_versions(cursor, [old])
    _relate(cursor, generation, works, before, rows)
    cursor.run("bump")


def _describe(cursor: Cursor, holder: int, generation: Generation, works: Sequence[_Work]) -> list[DocumentRow]:
    described = [_described(work) for work in works]
    columns = {name: [each[name] for each in described] for name in described[0]}
    made = {"holder": holder, "embedder": generation.embedder, "dimensions": generation.dimensions}
    return [document_row(row) for row in cursor.all("publish_documents", **made, **columns)]


def _described(work: _Work) -> dict[str, object]:
    values = published_values(work.draft)
    text = "".join(part.text for part in work.draft.parts) if work.is_whole else None
    packed = {"metadata": pack_json(values["metadata"]), "warnings": pack_json(values["warnings"])}
    return {**values, **packed, "document": work.handle.pk, "version": work.handle.version, "content": text}


def _relate(
    cursor: Cursor,
    generation: Generation,
    works: Sequence[_Work],
    before: dict[int, int | None],
    rows: Sequence[DocumentRow],
) -> None:
    """Write facets, sources, near-duplicates, and the generation's data on the documents."""
    new = [row for row in rows if before[row.pk] is None]
    again = [row for row in rows if before[row.pk] is not None]
    for listed, fresh in ((new, True), (again, False)):
        if listed:
            documents.put_facets(cursor, listed, new=fresh)
    cursor.many("put_sources", _sources(works))
    cursor.many("put_planned", [_plan(generation, work) for work in works])
    _put_sketches(cursor, works, {pk for pk, version in before.items() if version is None})


def _put_sketches(cursor: Cursor, works: Sequence[_Work], fresh: Container[int]) -> None:
    """Store the sketches of documents, those of new ones in one go, and set the near-duplicates found."""
    new: list[tuple[Draft, near.SketchDraft]] = []
    for work in works:
        draft, pk, collection = work.draft, work.handle.pk, clean(work.draft.collection)
        if pk not in fresh:
            draft.near_duplicate_of = near.put(cursor, collection, pk, draft.sketch, new=False)
        elif draft.sketch is not None:
            new.append(
                (draft, near.SketchDraft(collection, pk, draft.document_id, clean(draft.filename), draft.sketch))
            )
    for (draft, _), alike in zip(new, near.put_new(cursor, [each for _, each in new]), strict=True):
        draft.near_duplicate_of = alike


def _sources(works: Sequence[_Work]) -> Iterable[dict[str, object]]:
    """Return each source once, with its last document."""
    named = {(clean(work.draft.collection), clean(work.draft.source)): work.handle.pk for work in works}
    return [{"collection": place[0], "source": place[1], "document": pk} for place, pk in named.items()]


def _plan(generation: Generation, work: _Work) -> dict[str, object]:
    made = {"ingestion_version": work.draft.ingestion_version, "chunks": work.publication.chunks}
    return {"generation": generation.pk, "document": work.handle.pk, **made}


def discard(cursor: Cursor, holder: int, handle: Handle) -> None:
    """Remove the rows of an abandoned draft, and release its document."""
    cursor.run("drop_versions", versions=[handle.version])
    cursor.run("release_document", document=handle.pk, holder=holder)


@retrying
def discard_failed(database: Database, user_id: str, holder: int, drafts: Sequence[Draft]) -> None:
    """Discard drafts that failed."""
    with database.write(user_id) as cursor:
        for draft in drafts:
            assert draft.error is not None
            documents.set_failed(cursor, draft.handle.pk, draft.error)
            discard(cursor, holder, draft.handle)


def save_reindexed(
    database: Database,
    user_id: str,
    generation: Generation,
    row: DocumentRow,
    made: Sequence[ChunkDraft],
    version: str,
    vectors: VectorOf,
) -> None:
    """Write a document's chunks in a generation that does not serve yet, in one transaction."""
    assert row.current is not None
    with database.snapshot(user_id) as cursor:
        reader = SpanReader(cursor, row.current)
        rows = list(chunks.analyzed(made, reader.read, chunks.Named(row.document.title, row.document.filename)))
    averages = chunks.averages_for(database, user_id, generation.pk, rows)
    where = Where(generation.pk, row.pk, row.document.id, row.current)

    def attempt() -> None:
        with database.write(user_id) as cursor:
            cursor.run("share_tenant")
            (now,) = documents.locked(cursor, [row.document.id]) or (None,)
            if now is None or now.current != row.current:
                return  # it was deleted or replaced meanwhile; the next round fills the new version
            cursor.run("uncount_terms", generation=generation.pk, versions=[where.version])
            cursor.run("drop_chunks_of", generation=generation.pk, version=where.version)
            counts = TermCounts({where.version})
            chunks.put(cursor, generation.model, [(where, each) for each in rows], averages, vectors, counts)
            counts.write(cursor, generation.pk)
            generations.put_planned(cursor, generation.pk, row.pk, version, len(made))

    retry(attempt)
