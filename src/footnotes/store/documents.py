"""Documents: found by id, bytes or source; described to filters, and removed with all they have."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.errors import NotFound
from footnotes.store import near
from footnotes.store.database import Cursor, Json, Row
from footnotes.store.facets import facets_of
from footnotes.store.filters import asks_chunks
from footnotes.store.missing import without_text
from footnotes.store.naming import source_mark
from footnotes.store.records import DocumentRow
from footnotes.store.rows import document_row, packed_error
from footnotes.types import ErrorInfo, Filter, Metadata


def find(cursor: Cursor, document_id: str) -> DocumentRow | None:
    return _one(cursor.one("document", id=document_id))


def find_by_hash(cursor: Cursor, collection: str, file_hash: str) -> DocumentRow | None:
    return _one(cursor.one("document_by_hash", collection=collection, file_hash=file_hash))


def find_by_source(cursor: Cursor, collection: str, source: str) -> DocumentRow | None:
    return _one(cursor.one("document_by_source", collection=collection, source=source))


def find_by_hashes(cursor: Cursor, collection: str, hashes: Sequence[str]) -> dict[str, DocumentRow]:
    rows = cursor.all("documents_by_hashes", collection=collection, hashes=list(hashes))
    return {row.document.file_hash: row for row in map(document_row, rows)}


def find_by_sources(cursor: Cursor, collection: str, sources: Sequence[str]) -> dict[str, DocumentRow]:
    rows = cursor.all("documents_by_sources", collection=collection, sources=list(sources))
    return {row["known_as"]: document_row(row) for row in rows}


def get(cursor: Cursor, document_id: str) -> DocumentRow:
    """A document by id; `NotFound` where there is none."""
    row = find(cursor, document_id)
    if row is None:
        raise NotFound(f"there is no document {document_id!r}")
    return row


def get_current(cursor: Cursor, document_id: str) -> tuple[DocumentRow, int]:
    """A document that has a text, and the version that is served."""
    row = get(cursor, document_id)
    if row.current is None:
        raise without_text(row.document)
    return row, row.current


def by_key(cursor: Cursor, keys: Sequence[int]) -> list[DocumentRow]:
    return [document_row(row) for row in cursor.all("documents_by_key", keys=list(keys))]


def locked(cursor: Cursor, document_ids: Sequence[str]) -> list[DocumentRow]:
    """Documents by id, as they are now and stay until the transaction ends."""
    return [document_row(row) for row in cursor.all("documents_locked", ids=list(document_ids))]


def listed(cursor: Cursor, where: Filter | None, limit: int | None, offset: int) -> list[DocumentRow]:
    """Documents in the order they came, those that pass the filter."""
    query = "documents_by_chunk" if where is not None and asks_chunks(where) else "documents"
    return [document_row(row) for row in cursor.all(query, where, limit=limit, offset=offset)]


def set_failed(cursor: Cursor, pk: int, error: ErrorInfo) -> None:
    """Say why a document could not be taken in. One that is served already stays as it is."""
    cursor.run("set_failed", document=pk, error=packed_error(error))
    put_facets(cursor, [row for row in by_key(cursor, [pk]) if row.document.status == "failed"])


def set_metadata(cursor: Cursor, pk: int, metadata: Metadata) -> None:
    cursor.run("set_metadata", document=pk, metadata=Json(dict(metadata)))


def put_facets(cursor: Cursor, rows: Sequence[DocumentRow], *, new: bool = False) -> None:
    """Rewrite what filters see of documents."""
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
    """Their sources, as unfinished work is told to leave them out."""
    return [
        source_mark(row.document.collection, source)
        for row in rows
        for source in {row.document.source, *sources(cursor, row.pk)}
    ]


def drop_versions(cursor: Cursor, versions: Sequence[int], *, leg: str = "") -> None:
    """Remove texts with their chunks, and the vectors nothing else uses; the legs are told of it."""
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
