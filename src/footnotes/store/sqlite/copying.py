"""A library in a folder as one side of a copy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from footnotes.store import near
from footnotes.store.copying import (
    CopiedChunk,
    CopiedDocument,
    CopiedGeneration,
    CopiedOrigin,
    StoredSide,
    as_new_chunk,
    settled,
    some_at_a_time,
)
from footnotes.store.packing import unpack_headings
from footnotes.store.records import DocumentRow
from footnotes.store.rows import packed_error
from footnotes.store.sqlite import chunks, documents, generations
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import TextWriter
from footnotes.types import Part

if TYPE_CHECKING:
    from footnotes.store.sqlite.store import SqliteStore


class SqliteSide(StoredSide):
    """One tenant of a SQLite store. Whoever copies to it holds it for writing."""

    def __init__(self, store: SqliteStore, user_id: str) -> None:
        super().__init__(store, user_id)
        self._store = store

    # ── reading

    def document_ids(self) -> list[str]:
        with self._store.database.raw_snapshot() as connection:
            return [str(row[0]) for row in connection.execute(queries()["copied_documents"], (self._user_id,))]

    def document(self, document_id: str) -> CopiedDocument:
        row = self._store.find(self._user_id, document_id)
        with self._store.database.raw_snapshot() as connection:
            sketch: Any = connection.execute(queries()["copied_sketch"], (row.pk,)).fetchone()
            derived: Any = connection.execute(queries()["copied_derived"], (row.pk,)).fetchall()
            origins: Any = connection.execute(queries()["copied_origins"], (row.pk,)).fetchall()
            sources = documents.sources(connection, row.pk)
        kept = {generation.number for generation in self.generations()}
        return CopiedDocument(
            document=row.document,
            has_text=row.current is not None,
            sources=tuple(sources),
            origins=tuple(_origin(*each) for each in origins),
            sketch=sketch[0] if sketch else None,
            derived=tuple(tuple(each) for each in derived if each[0] in kept),
        )

    def chunks(self, document_id: str) -> Iterator[Sequence[CopiedChunk]]:
        row = self._store.find(self._user_id, document_id)
        with self._store.database.raw_snapshot() as connection:
            found = connection.execute(queries()["copied_chunks"], (row.current, self._user_id))
            yield from some_at_a_time(map(_chunk, found))

    # ── writing

    def put_frame(
        self, generations_there: Sequence[CopiedGeneration], collections: Sequence[dict[str, Any]]
    ) -> dict[int, int]:
        with self._store.database.transaction() as connection:
            for each in collections:
                choice = (each["chunker"], each["chunker_options"], each["system_prompt"])
                row = (self._user_id, each["name"], *choice, documents.now())
                connection.execute(queries()["copy_collection"], row)
            known = {g.plan.get("copied"): g.pk for g in generations.listed(connection, self._user_id)}
            return {each.number: self._generation(connection, each, known) for each in generations_there}

    def _generation(self, connection: apsw.Connection, each: CopiedGeneration, known: dict[Any, int]) -> int:
        if each.number in known:
            return known[each.number]
        made = generations.make(
            connection,
            self._user_id,
            embedder=each.embedder,
            fingerprint=each.fingerprint,
            dimensions=each.dimensions,
            plan={**each.plan, "copied": each.number},
            state=each.state,
        )
        return made.pk

    def put(
        self,
        document: CopiedDocument,
        parts: Iterable[Part],
        chunks_there: Iterable[Sequence[CopiedChunk]],
        numbers: dict[int, int],
    ) -> None:
        with self._store.database.transaction() as connection:
            version = self._text(connection, document, parts) if document.has_text else None
            pk = self._document(connection, document, version)
            models = {g.pk: g.model for g in generations.listed(connection, self._user_id)}
            if version is not None:
                for batch in chunks_there:
                    self._chunks(connection, pk, version, batch, numbers, models)
            for number, made_with, count in document.derived:
                planned = (self._user_id, numbers[number], pk, made_with, count)
                connection.execute(queries()["put_planned"], planned)
                documents.log_change(connection, self._user_id, numbers[number], pk, [])
            self._related(connection, document, DocumentRow(pk, version, document.document))

    def _text(self, connection: apsw.Connection, document: CopiedDocument, parts: Iterable[Part]) -> int:
        said = document.document
        row = (self._user_id, said.collection, said.file_hash, documents.now())
        made: Any = connection.execute(queries()["make_version"], row).fetchone()
        writer = TextWriter(int(made[0]))
        for part in parts:
            writer.add(connection, part)
        writer.finish(connection)
        return int(made[0])

    def _document(self, connection: apsw.Connection, document: CopiedDocument, version: int | None) -> int:
        said = settled(document.document)
        status = "indexing" if said.status == "ready" else said.status
        error = packed_error(said.error)
        row = (
            *(said.id, self._user_id, said.collection, said.source, said.filename, said.file_hash, said.mime),
            *(said.title, status, said.bytes, said.characters, said.pages, said.chunks),
            *(_json(dict(said.metadata)), _json(said.warnings), said.embedding_model, said.embedding_dim),
            *(said.ingestion_version, said.version, _json(error) if error else None, version),
            *(said.created_at, said.updated_at),
        )
        made: Any = connection.execute(queries()["copy_document"], row).fetchone()
        return int(made[0])

    def _chunks(
        self,
        connection: apsw.Connection,
        pk: int,
        version: int,
        batch: Sequence[CopiedChunk],
        numbers: dict[int, int],
        models: dict[int, int],
    ) -> None:
        for generation in {chunk.generation for chunk in batch}:
            there = [chunk for chunk in batch if chunk.generation == generation]
            here = numbers[generation]
            chunks.put(connection, self._user_id, here, pk, version, map(as_new_chunk, there))
            vectors = [(self._user_id, models[here], c.input_hash, c.vector) for c in there if c.vector]
            connection.executemany(queries()["put_embedding"], vectors)

    def _related(self, connection: apsw.Connection, document: CopiedDocument, row: DocumentRow) -> None:
        collection = document.document.collection
        for source in document.sources:
            documents.add_source(connection, self._user_id, collection, source, row.pk)
        for o in document.origins:
            error = _json(o.error) if o.error else None
            stat = (o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.etag, o.modified, error, o.made_by)
            connection.execute(queries()["copy_origin"], (self._user_id, collection, o.source, *stat))
        if document.has_text:
            documents.refresh_facets(connection, self._user_id, row)
            near.put(SqliteCursor(connection, self._user_id), collection, row.pk, document.sketch, new=True)

    def finish(self) -> None:
        if serving := self._store.serving(self._user_id):
            self._store.publish_changes(self._user_id, serving)


def _origin(
    source: str, size: int | None, mtime: int | None, ctime: int | None, read: int, *rest: str | None
) -> CopiedOrigin:
    etag, modified, error, made_by = rest
    return CopiedOrigin(
        source, size, mtime, ctime, read, etag, modified, json.loads(error) if error else None, made_by or ""
    )


def _chunk(row: Any) -> CopiedChunk:
    generation, index, id_, start, end, page, last_page, line, last_line, headings, tokens, prefix = row[:12]
    metadata, parts, input_hash, vector = row[12:]
    return CopiedChunk(
        generation=generation,
        index=index,
        id=id_,
        start=start,
        end=end,
        pages=None if page is None else (page, last_page),
        lines=None if line is None else (line, last_line),
        headings=unpack_headings(headings),
        tokens=tokens,
        prefix=prefix,
        metadata=json.loads(metadata),
        parts=tuple((first, last) for first, last in json.loads(parts)) if parts else (),
        input_hash=input_hash,
        vector=vector,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
