"""Writes drafts: text and chunks as they come, and the one step by which a document begins to be served."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from footnotes.store import near
from footnotes.store.naming import document_id
from footnotes.store.records import Draft, Generation
from footnotes.store.sqlite import chunks, documents, staging, waiting
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import TextWriter


@dataclass(slots=True)
class Handle:
    """Where a draft is being written."""

    pk: int
    version: int
    writer: TextWriter


def save(connection: apsw.Connection, user_id: str, generation: Generation, draft: Draft) -> None:
    """Write what the draft has buffered. A complete one is published, or staged where a version before it is served."""
    if draft.handle is None:
        draft.handle = begin(connection, user_id, draft)
    handle: Handle = draft.handle
    for part in draft.parts:
        handle.writer.add(connection, part)
    chunks.put(connection, user_id, generation.pk, handle.pk, handle.version, draft.chunks)
    if draft.publication is None:
        return
    handle.writer.finish(connection)
    before = documents.find(connection, user_id, draft.document_id)
    assert before is not None
    draft.waits = waiting.lacks_vectors(connection, generation, handle.version)
    if before.current is not None:
        staging.stage(connection, generation, before, handle.version, draft)
    else:
        _publish(connection, user_id, generation, draft)
    documents.add_source(connection, user_id, draft.collection, draft.source, handle.pk)
    draft.near_duplicate_of = near.put(
        SqliteCursor(connection, user_id), draft.collection, handle.pk, draft.sketch, new=before.current is None
    )
    planned = (user_id, generation.pk, handle.pk, draft.ingestion_version, draft.publication.chunks)
    connection.execute(queries()["put_planned"], planned)


def _publish(connection: apsw.Connection, user_id: str, generation: Generation, draft: Draft) -> None:
    documents.publish(connection, user_id, draft.handle.pk, draft.handle.version, draft, generation)
    after = documents.find(connection, user_id, draft.document_id)
    assert after is not None
    documents.refresh_facets(connection, user_id, after)
    documents.log_change(connection, user_id, generation.pk, draft.handle.pk, [])


def discard(connection: apsw.Connection, user_id: str, draft: Draft) -> None:
    """Remove what an abandoned draft has written; its vectors stay, so that another try need not embed again."""
    if draft.handle is not None:
        connection.execute(queries()["drop_version"], (user_id, draft.handle.version))


def begin(connection: apsw.Connection, user_id: str, draft: Draft) -> Handle:
    """Make room for a draft: a version, and a document where there is none yet."""
    connection.execute(queries()["make_user"], (user_id,))
    connection.execute(queries()["put_collection"], (user_id, draft.collection, None, None, None, documents.now()))
    row = (user_id, draft.collection, draft.file_hash, documents.now())
    version = connection.execute(queries()["make_version"], row).fetchone()
    assert version is not None
    if draft.replaces is not None:
        draft.document_id, pk = draft.replaces.document.id, draft.replaces.pk
    else:
        draft.document_id = _free_id(connection, user_id, draft)
        pk = documents.make(connection, user_id, draft)
    return Handle(pk, int(version[0]), TextWriter(int(version[0])))


def _free_id(connection: apsw.Connection, user_id: str, draft: Draft) -> str:
    attempt = 0
    while True:
        candidate = document_id(user_id, draft.collection, draft.file_hash, attempt)
        if documents.find(connection, user_id, candidate) is None:
            return candidate
        attempt += 1
