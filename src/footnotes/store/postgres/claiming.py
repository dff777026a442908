"""Exactly one living writer is at a document: it is claimed before anything of it is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from footnotes.errors import StoreLocked
from footnotes.store.naming import document_id
from footnotes.store.postgres import documents
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.persistence import persistently
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.texts import TextWriter
from footnotes.store.records import Draft


@dataclass(slots=True)
class Handle:
    """Where a draft is being written. `opened` once rows of it are there."""

    pk: int
    version: int
    writer: TextWriter
    opened: bool = False


@dataclass(slots=True)
class _Claims:
    """What a transaction has claimed; told to the drafts when it is committed."""

    keys: dict[int, tuple[int, str]] = field(default_factory=dict)
    elsewhere: dict[int, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    versions: dict[int, int] = field(default_factory=dict)


def claim(database: Database, user_id: str, holder: int, drafts: Sequence[Draft]) -> None:
    """Give drafts their place. One whose document another living writer is at gets none, and says so."""
    if not drafts:
        return

    def attempt() -> _Claims:
        with database.transaction(user_id) as connection:
            return _claimed(connection, user_id, holder, drafts)

    claims = persistently(attempt)
    for draft in drafts:
        if id(draft) in claims.keys:
            pk, draft.document_id = claims.keys[id(draft)]
            version = claims.versions[pk]
            draft.handle = Handle(pk, version, TextWriter(version))
        elif id(draft) in claims.elsewhere:
            draft.elsewhere = claims.elsewhere[id(draft)]
        else:
            draft.refused = StoreLocked(f"another writer is at the document of {draft.source}").info()


def _claimed(connection: Connection, user_id: str, holder: int, drafts: Sequence[Draft]) -> _Claims:
    connection.execute(queries()["make_user"], user_id)
    connection.execute(queries()["make_collections"], user_id, sorted({clean(draft.collection) for draft in drafts}))
    claims = _Claims()
    new = _replacing(connection, user_id, holder, drafts, claims)
    if new:
        _inserting(connection, user_id, holder, new, claims)
    hashes = {claims.keys[id(draft)][0]: draft.file_hash for draft in drafts if id(draft) in claims.keys}
    rows = connection.fetch(queries()["make_versions"], user_id, holder, list(hashes), list(hashes.values()))
    claims.versions = {row["document"]: row["pk"] for row in rows}
    return claims


def _replacing(
    connection: Connection, user_id: str, holder: int, drafts: Sequence[Draft], claims: _Claims
) -> list[Draft]:
    """Claim the documents that get a next version. Returns the drafts of new ones, also where the old one is gone."""
    wanted = {draft.replaces.pk: draft for draft in drafts if draft.replaces is not None}
    taken = {row[0] for row in connection.fetch(queries()["claim_for_replacing"], user_id, holder, sorted(wanted))}
    held = {row.pk: row for row in documents.by_pk(connection, user_id, sorted(set(wanted) - taken))}
    new = [draft for draft in drafts if draft.replaces is None]
    for pk, draft in wanted.items():
        assert draft.replaces is not None
        if pk in taken:
            claims.keys[id(draft)] = (pk, draft.replaces.document.id)
        elif pk not in held:
            new.append(draft)
        elif held[pk].document.file_hash == draft.file_hash:
            claims.elsewhere[id(draft)] = pk
        else:
            claims.refused.add(id(draft))
    return new


def _inserting(connection: Connection, user_id: str, holder: int, drafts: Sequence[Draft], claims: _Claims) -> None:
    columns = _columns(zip(_free_ids(connection, user_id, drafts), drafts, strict=True))
    rows = connection.fetch(queries()["claim_documents"], user_id, holder, *columns)
    made = {(row["collection"], row["file_hash"]): row for row in rows}
    others = _made_by_others(connection, user_id, [draft for draft in drafts if _place(draft) not in made])
    sources = []
    for draft in drafts:
        row = made.get(_place(draft))
        if row is None:
            claims.elsewhere[id(draft)] = others[_place(draft)]
            continue
        claims.keys[id(draft)] = (row["pk"], row["id"])
        if row["inserted"]:
            sources.append((clean(draft.collection), clean(draft.source), row["pk"]))
    if sources:
        columns = [list(column) for column in zip(*sources, strict=True)]
        connection.execute(queries()["put_sources"], user_id, *columns)


def _made_by_others(connection: Connection, user_id: str, drafts: Sequence[Draft]) -> dict[tuple[str, str], int]:
    if not drafts:
        return {}
    places = [list(column) for column in zip(*map(_place, drafts), strict=True)]
    rows = connection.fetch(queries()["being_made"], user_id, *places)
    found = {(row["collection"], row["file_hash"]): row["pk"] for row in rows}
    if len(found) < len(drafts):
        raise StoreLocked("a document was deleted while it was added") from LookupError()
    return found


def _free_ids(connection: Connection, user_id: str, drafts: Sequence[Draft]) -> list[str]:
    """Ids no document has; counted on where content came back after an edit."""
    attempts = [0] * len(drafts)
    while True:
        places = zip(drafts, attempts, strict=True)
        ids = [document_id(user_id, draft.collection, draft.file_hash, attempt) for draft, attempt in places]
        taken = {row[0] for row in connection.fetch(queries()["taken_ids"], user_id, ids)}
        if not taken:
            return ids
        attempts = [attempt + (id_ in taken) for attempt, id_ in zip(attempts, ids, strict=True)]


def _place(draft: Draft) -> tuple[str, str]:
    return clean(draft.collection), draft.file_hash


def _columns(named: Any) -> list[list[Any]]:
    rows = [
        (
            id_,
            clean(draft.collection),
            clean(draft.source),
            clean(draft.filename),
            draft.file_hash,
            draft.size,
            json.dumps(clean_json(draft.metadata), ensure_ascii=False, allow_nan=False),
            draft.status,
        )
        for id_, draft in named
    ]
    return [list(column) for column in zip(*rows, strict=True)]
