"""Documents: found by id, bytes or source; described to filters, and removed with all they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footnotes.store import near
from footnotes.store.facets import facets_of
from footnotes.store.naming import source_mark
from footnotes.store.postgres import statistics
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.filters import compile_filter
from footnotes.store.postgres.rows import document_row
from footnotes.store.postgres.sql import queries
from footnotes.store.records import DocumentRow
from footnotes.store.rows import packed_error
from footnotes.types import ErrorInfo, Filter, Metadata


def find(connection: Connection, user_id: str, document_id: str) -> DocumentRow | None:
    return _one(connection.row(queries()["document"], user_id, clean(document_id)))


def find_by_hash(connection: Connection, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
    return _one(connection.row(queries()["document_by_hash"], user_id, clean(collection), file_hash))


def find_by_source(connection: Connection, user_id: str, collection: str, source: str) -> DocumentRow | None:
    return _one(connection.row(queries()["document_by_source"], user_id, clean(collection), clean(source)))


def by_pk(connection: Connection, user_id: str, pks: Sequence[int]) -> list[DocumentRow]:
    return [document_row(row) for row in connection.fetch(queries()["documents_by_pk"], user_id, list(pks))]


def locked(connection: Connection, user_id: str, document_ids: Sequence[str]) -> list[DocumentRow]:
    """Documents by id, as they are now and stay until the transaction ends."""
    rows = connection.fetch(queries()["documents_by_id_locked"], user_id, list(document_ids))
    return [document_row(row) for row in rows]


def listed(
    connection: Connection, user_id: str, where: Filter | None, limit: int | None, offset: int
) -> list[DocumentRow]:
    """Documents in the order they came, those that pass the filter."""
    sql, bindings = ("TRUE", list[Any]()) if where is None else compile_filter(where, user_id, 4)
    if "c." in sql:
        sql = f"EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND {sql})"  # noqa: S608
    statement = (
        f"SELECT {queries()['document_columns']} FROM documents d WHERE d.user_id = $1 AND {sql} "  # noqa: S608
        "ORDER BY d.pk LIMIT $2 OFFSET $3"
    )
    rows = connection.fetch(statement, user_id, limit, offset, *bindings)
    return [document_row(row) for row in rows]


def set_failed(connection: Connection, user_id: str, pk: int, error: ErrorInfo) -> None:
    """Say why a document could not be taken in. One that is served already stays as it is."""
    connection.execute(queries()["set_failed"], user_id, pk, clean_json(packed_error(error)))


def set_metadata(connection: Connection, user_id: str, pk: int, metadata: Metadata) -> None:
    connection.execute(queries()["set_metadata"], user_id, pk, clean_json(metadata))


def put_facets(connection: Connection, user_id: str, rows: Sequence[DocumentRow], *, new: bool = False) -> None:
    """Rewrite what filters see of documents."""
    if not new:
        connection.execute(queries()["drop_facets"], user_id, [row.pk for row in rows])
    facets = [(facet.key, facet.text, facet.number, row.pk) for row in rows for facet in facets_of(row.document)]
    columns = [list(column) for column in zip(*facets, strict=True)]
    connection.execute(queries()["put_facets"], user_id, *columns)


def add_source(connection: Connection, user_id: str, collection: str, source: str, pk: int) -> None:
    connection.execute(queries()["put_sources"], user_id, [clean(collection)], [clean(source)], [pk])


def drop_source(connection: Connection, user_id: str, collection: str, source: str) -> None:
    connection.execute(queries()["drop_source"], user_id, clean(collection), clean(source))


def sources(connection: Connection, user_id: str, pk: int) -> list[str]:
    return [row[0] for row in connection.fetch(queries()["sources_of"], user_id, pk)]


def uncount(connection: Connection, user_id: str, version: int) -> None:
    """Take a version that is about to go out of the statistics of every generation."""
    for row in connection.fetch(queries()["generations_of_version"], user_id, version):
        statistics.count(connection, user_id, row[0], [version], -1)


def drop_version(connection: Connection, user_id: str, version: int) -> None:
    """Remove a version's text, chunks and vectors."""
    uncount(connection, user_id, version)
    connection.execute(queries()["drop_versions"], user_id, [version])


def marks(connection: Connection, user_id: str, rows: Sequence[DocumentRow]) -> list[str]:
    """Their sources, as unfinished work is told to leave them out."""
    return [
        source_mark(row.document.collection, source)
        for row in rows
        for source in {row.document.source, *sources(connection, user_id, row.pk)}
    ]


def drop(connection: Connection, user_id: str, rows: Sequence[DocumentRow]) -> None:
    """Remove documents and everything derived from them."""
    led = [source for row in rows for source in {row.document.source, *sources(connection, user_id, row.pk)}]
    connection.execute(queries()["drop_jobs_of"], user_id, [row.document.id for row in rows], led)
    cursor = PostgresCursor(connection, user_id)
    for row in rows:
        if row.current is not None:
            uncount(connection, user_id, row.current)
        near.drop(cursor, row.document.collection, row.pk)
    connection.execute(queries()["drop_documents"], user_id, [row.pk for row in rows])


def _one(row: Any) -> DocumentRow | None:
    return None if row is None else document_row(row)
