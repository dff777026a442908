"""A tenant in PostgreSQL as one side of a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from footnotes.store import near
from footnotes.store.copying import (
    CHUNKS_AT_ONCE,
    CopiedChunk,
    CopiedDocument,
    CopiedGeneration,
    CopiedOrigin,
    StoredSide,
    as_new_chunk,
    settled,
)
from footnotes.store.postgres import chunks, documents, generations, statistics
from footnotes.store.postgres.chunks import Where
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.texts import WHOLE, TextRows, TextWriter
from footnotes.store.records import DocumentRow
from footnotes.store.rows import packed_error
from footnotes.types import Part

if TYPE_CHECKING:
    from footnotes.store.postgres.store import PostgresStore


class PostgresSide(StoredSide):
    """One tenant of a PostgreSQL store."""

    def __init__(self, store: PostgresStore, user_id: str) -> None:
        super().__init__(store, user_id)
        self._store = store
        self._database = store.database

    # ── reading

    def document_ids(self) -> list[str]:
        with self._database.reading(self._user_id) as connection:
            return [row[0] for row in connection.fetch(queries()["copied_documents"], self._user_id)]

    def document(self, document_id: str) -> CopiedDocument:
        row = self._store.find(self._user_id, document_id)
        with self._database.raw_snapshot(self._user_id) as connection:
            sketch = connection.value(queries()["copied_sketch"], self._user_id, row.pk)
            derived = connection.fetch(queries()["copied_derived"], self._user_id, row.pk)
            origins = connection.fetch(queries()["copied_origins"], self._user_id, row.pk)
            sources = documents.sources(connection, self._user_id, row.pk)
        kept = {generation.number for generation in self.generations()}
        return CopiedDocument(
            document=row.document,
            has_text=row.current is not None,
            sources=tuple(sources),
            origins=tuple(CopiedOrigin(*origin) for origin in origins),
            sketch=sketch,
            derived=tuple((each[0], each[1], each[2]) for each in derived if each[0] in kept),
        )

    def chunks(self, document_id: str) -> Iterator[Sequence[CopiedChunk]]:
        row = self._store.find(self._user_id, document_id)
        after = (0, -1)
        while True:
            with self._database.reading(self._user_id) as connection:
                key = (self._user_id, row.current, *after, CHUNKS_AT_ONCE)
                found = connection.fetch(queries()["copied_chunks"], *key)
            if not found:
                return
            yield [_chunk(each) for each in found]
            after = (found[-1]["generation"], found[-1]["chunk_index"])

    # ── writing

    def put_frame(
        self, generations_there: Sequence[CopiedGeneration], collections: Sequence[dict[str, Any]]
    ) -> dict[int, int]:
        with self._database.transaction(self._user_id) as connection:
            connection.execute(queries()["make_user"], self._user_id)
            for each in collections:
                choice = (each["chunker"], each["chunker_options"], each["system_prompt"])
                connection.execute(queries()["put_collection"], self._user_id, clean(each["name"]), *choice)
            known = {g.plan.get("copied"): g.pk for g in generations.listed(connection, self._user_id)}
            return {each.number: self._generation(connection, each, known) for each in generations_there}

    def _generation(self, connection: Connection, each: CopiedGeneration, known: dict[Any, int]) -> int:
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
        with self._database.transaction(self._user_id) as connection:
            pk = self._document(connection, document)
            row = DocumentRow(pk, None, document.document)
            if document.has_text:
                version, text = self._text(connection, pk, document, parts)
                where = (pk, document.document.id, version)
                for batch in chunks_there:
                    self._chunks(connection, where, batch, numbers, text, document.document.title)
                for number in sorted({numbers[each[0]] for each in document.derived}):
                    statistics.count(connection, self._user_id, number, [version], 1)
            for number, made_with, count in document.derived:
                planned = ([pk], [made_with], [count])
                connection.execute(queries()["put_planned"], self._user_id, numbers[number], *planned)
            self._related(connection, document, row)
            connection.execute(queries()["bump"], self._user_id)

    def _document(self, connection: Connection, document: CopiedDocument) -> int:
        said = settled(document.document)
        row = (
            *(said.id, clean(said.collection), clean(said.source), clean(said.filename), said.file_hash, said.mime),
            *(clean(said.title), said.status, said.bytes, said.characters, said.pages, said.chunks),
            *(clean_json(dict(said.metadata)), clean_json(said.warnings), said.embedding_model, said.embedding_dim),
            *(said.ingestion_version, said.version, clean_json(packed_error(said.error))),
            *(said.created_at, said.updated_at),
        )
        return int(connection.value(queries()["copy_document"], self._user_id, *row))

    def _text(
        self, connection: Connection, pk: int, document: CopiedDocument, parts: Iterable[Part]
    ) -> tuple[int, str]:
        version = int(connection.value(queries()["copy_version"], self._user_id, pk, document.document.file_hash))
        writer, rows, pieces = TextWriter(version), TextRows(), list[str]()
        whole = document.document.characters <= WHOLE
        for part in parts:
            pieces.append(part.text)
            (writer.add_part if whole else writer.add)(part, rows)
        if not whole:
            writer.finish(rows)
        rows.write(connection, self._user_id)
        text = clean("".join(pieces))
        connection.execute(queries()["copy_text"], self._user_id, pk, version, text if whole else None)
        return version, text

    def _chunks(
        self,
        connection: Connection,
        where: tuple[int, str, int],
        batch: Sequence[CopiedChunk],
        numbers: dict[int, int],
        text: str,
        title: str,
    ) -> None:
        for generation in sorted({chunk.generation for chunk in batch}):
            there = [chunk for chunk in batch if chunk.generation == generation]
            here = generations.find(connection, self._user_id, numbers[generation])
            assert here is not None
            rows = chunks.analyzed(map(as_new_chunk, there), lambda start, end: text[start:end], title)
            averages = chunks.averages_in(connection, self._user_id, here.pk, rows)
            vectors = {chunk.input_hash: _half(chunk.vector) for chunk in there}
            placed = [(Where(here.pk, *where), row) for row in rows]
            chunks.put(connection, self._user_id, here.model, placed, averages, vectors.get)

    def _related(self, connection: Connection, document: CopiedDocument, row: DocumentRow) -> None:
        collection = document.document.collection
        for source in document.sources:
            documents.add_source(connection, self._user_id, collection, source, row.pk)
        for o in document.origins:
            stat = (o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.etag, o.modified, clean_json(o.error), o.made_by)
            key = (self._user_id, clean(collection), clean(o.source))
            connection.execute(queries()["copy_origin"], *key, *stat)
        if document.has_text:
            documents.put_facets(connection, self._user_id, [row], new=True)
            near.put(PostgresCursor(connection, self._user_id), clean(collection), row.pk, document.sketch, new=True)

    def finish(self) -> None:
        if serving := self._store.serving(self._user_id):
            self._store.grow_graph(self._user_id, serving)


def _chunk(row: Any) -> CopiedChunk:
    vector = row["embedding"]
    return CopiedChunk(
        generation=row["generation"],
        index=row["chunk_index"],
        id=row["id"],
        start=row["start_offset"],
        end=row["end_offset"],
        pages=None if row["page_first"] is None else (row["page_first"], row["page_last"]),
        lines=None if row["line_first"] is None else (row["line_first"], row["line_last"]),
        headings=tuple(row["headings"]),
        tokens=row["tokens"],
        prefix=row["prefix"],
        metadata=row["metadata"],
        parts=tuple((first, last) for first, last in row["parts"] or ()),
        input_hash=row["input_hash"],
        vector=None if vector is None else vector.to_numpy().astype("<f2").tobytes(),
    )


def _half(vector: bytes | None) -> Any:
    from pgvector import HalfVector

    return None if vector is None else HalfVector(np.frombuffer(vector, dtype="<f2"))
