"""Documents: found by id, bytes or source; published, failed and removed. Every method takes the tenant first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import apsw

from footnotes.store import near
from footnotes.store.facets import facets_of
from footnotes.store.records import DocumentRow, Draft, Generation
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.filters import compile_filter
from footnotes.store.sqlite.rows import document_row
from footnotes.store.sqlite.sql import queries
from footnotes.types import DocumentStatus, ErrorInfo, Filter, Metadata


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def find(connection: apsw.Connection, user_id: str, document_id: str) -> DocumentRow | None:
    return _one(connection, "document", (user_id, document_id))


def find_by_hash(connection: apsw.Connection, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
    return _one(connection, "document_by_hash", (user_id, collection, file_hash))


def find_by_source(connection: apsw.Connection, user_id: str, collection: str, source: str) -> DocumentRow | None:
    return _one(connection, "document_by_source", (user_id, collection, source))


def listed(
    connection: apsw.Connection, user_id: str, where: Filter | None, limit: int | None, offset: int
) -> Iterator[DocumentRow]:
    """Documents in the order they came, those that pass the filter."""
    columns = queries()["document"].split("FROM")[0].replace("SELECT pk", "SELECT d.pk")
    sql, bindings = "1", list[Any]()
    if where is not None:
        sql, bindings = compile_filter(where, user_id, 2)
    if "c." in sql:
        sql = f"EXISTS (SELECT 1 FROM chunks c WHERE c.version = d.current AND {sql})"  # noqa: S608
    statement = f"{columns} FROM documents d WHERE d.user_id = ? AND {sql} ORDER BY d.pk LIMIT ? OFFSET ?"
    for row in connection.execute(statement, (user_id, *bindings, -1 if limit is None else limit, offset)):
        yield document_row(row)


def make(connection: apsw.Connection, user_id: str, draft: Draft) -> int:
    """A new document without a version to serve yet."""
    row = (draft.document_id, user_id, draft.collection, draft.source, draft.filename, draft.file_hash, draft.status)
    rest = (draft.size, _json(dict(draft.metadata)), now(), now())
    made = connection.execute(queries()["make_document"], (*row, *rest)).fetchone()
    assert made is not None
    add_source(connection, user_id, draft.collection, draft.source, int(made[0]))
    return int(made[0])


def publish(
    connection: apsw.Connection,
    user_id: str,
    pk: int,
    version: int,
    draft: Draft,
    made: Generation,
    *,
    at: str | None = None,
) -> None:
    """Serve `version` from now on: `embedding` while it lacks vectors, `indexing` until both indexes have it."""
    what = draft.publication
    assert what is not None
    status = "embedding" if draft.waits else "indexing"
    identity = (draft.source, draft.filename, draft.file_hash, what.mime, what.title, status, draft.size)
    extent = (what.characters, what.pages, what.chunks, _json(dict(what.metadata)), _json(what.warnings))
    origin = (made.embedder, made.dimensions, draft.ingestion_version, version, at or now(), user_id, pk)
    connection.execute(queries()["publish_document"], (*identity, *extent, *origin))


def set_status(
    connection: apsw.Connection, user_id: str, pk: int, status: DocumentStatus, error: ErrorInfo | None = None
) -> None:
    packed = _json(asdict(error)) if error else None
    connection.execute(queries()["set_status"], (status, packed, now(), user_id, pk))


def set_failed(connection: apsw.Connection, user_id: str, pk: int, error: ErrorInfo) -> None:
    """Say why a document could not be taken in. One that is served already stays as it is."""
    connection.execute(queries()["set_failed"], (_json(asdict(error)), now(), user_id, pk))


def set_metadata(connection: apsw.Connection, user_id: str, pk: int, metadata: Metadata) -> None:
    connection.execute(queries()["set_metadata"], (_json(dict(metadata)), now(), user_id, pk))


def refresh_facets(connection: apsw.Connection, user_id: str, row: DocumentRow) -> None:
    """Rewrite what filters see of the document."""
    connection.execute(queries()["drop_facets"], (row.pk,))
    values = [(user_id, facet.key, facet.text, facet.number, row.pk) for facet in facets_of(row.document)]
    connection.executemany(queries()["put_facet"], values)


def add_source(connection: apsw.Connection, user_id: str, collection: str, source: str, pk: int) -> None:
    connection.execute(queries()["put_source"], (user_id, collection, source, pk))


def drop_source(connection: apsw.Connection, user_id: str, collection: str, source: str) -> None:
    connection.execute(queries()["drop_source"], (user_id, collection, source))


def sources(connection: apsw.Connection, pk: int) -> list[str]:
    return [row[0] for row in connection.execute(queries()["sources_of"], (pk,))]


def drop_version(connection: apsw.Connection, user_id: str, version: int) -> None:
    """Remove a version's text and chunks, and the vectors nothing else uses."""
    hashes = [row[0] for row in connection.execute(queries()["input_hashes"], (version,))]
    connection.execute(queries()["drop_version"], (user_id, version))
    connection.executemany(queries()["drop_unused_embedding"], [(user_id, value) for value in hashes])


def drop(connection: apsw.Connection, user_id: str, row: DocumentRow) -> None:
    """Remove a document and everything derived from it."""
    for version in versions(connection, row):
        drop_version(connection, user_id, version)
    for source in {row.document.source, *sources(connection, row.pk)}:
        connection.execute(queries()["drop_jobs_of"], (user_id, row.document.id, source))
    near.drop(SqliteCursor(connection, user_id), row.document.collection, row.pk)
    connection.execute(queries()["drop_document"], (user_id, row.pk))


def versions(connection: apsw.Connection, row: DocumentRow) -> list[int]:
    """The version of a document that is served, and the next one where it is written already."""
    staged = connection.execute(queries()["staged_version"], (row.pk,)).fetchone()
    return [int(version) for version in (row.current, staged[0] if staged else None) if version is not None]


def log_change(
    connection: apsw.Connection, user_id: str, generation: int, pk: int, removed: Sequence[Any], *, leg: str = ""
) -> int:
    """Tell the indexes, or one of them, to look at a document again. Returns the number of the change."""
    row = (user_id, generation, pk, json.dumps(list(removed)), leg)
    logged = connection.execute(queries()["log_change"], row).fetchone()
    assert logged is not None
    return int(logged[0])


def log_removal(connection: apsw.Connection, user_id: str, row: DocumentRow, *, leg: str = "") -> None:
    """Tell the indexes of every generation which keys went."""
    keys: dict[int, list[int]] = {}
    for version in versions(connection, row):
        for generation, key in connection.execute(queries()["keys_of_version"], (version,)):
            keys.setdefault(int(generation), []).append(int(key))
    for generation, gone in keys.items():
        log_change(connection, user_id, generation, row.pk, _ranges(gone), leg=leg)


def _ranges(keys: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted keys as runs of (first, count)."""
    runs: list[tuple[int, int]] = []
    for key in keys:
        if runs and key == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((key, 1))
    return runs


def _one(connection: apsw.Connection, name: str, bindings: tuple[Any, ...]) -> DocumentRow | None:
    row = connection.execute(queries()[name], bindings).fetchone()
    return None if row is None else document_row(row)
