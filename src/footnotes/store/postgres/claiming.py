"""Claims: exactly one live writer holds a document, and claims it before it writes any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from footnotes.errors import StoreLocked
from footnotes.store import documents
from footnotes.store.database import Cursor, Database
from footnotes.store.postgres.clean import clean
from footnotes.store.postgres.cursor import pack_json
from footnotes.store.records import Draft
from footnotes.store.retry import WritersMet, retry
from footnotes.store.texts import Handle, TextWriter


@dataclass(slots=True)
class _Claims:
    """The claims of a transaction; the drafts receive them after the commit."""

    keys: dict[int, tuple[int, str]] = field(default_factory=dict)
    of_others: dict[int, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    versions: dict[int, int] = field(default_factory=dict)


def claim(database: Database, user_id: str, holder: int, drafts: Sequence[Draft]) -> None:
    """Claim the documents of drafts. If another live writer holds one, its draft gets no handle but the reason."""
    if not drafts:
        return

    def attempt() -> _Claims:
        with database.write(user_id) as cursor:
            return _claim_rows(cursor, holder, drafts)

    claims = retry(attempt)
    for draft in drafts:
        if id(draft) in claims.keys:
            pk, draft.document_id = claims.keys[id(draft)]
            version = claims.versions[pk]
            draft.handle = Handle(pk, version, TextWriter(version))
        elif id(draft) in claims.of_others:
            draft.claimed_pk = claims.of_others[id(draft)]
        else:
            draft.refused = StoreLocked(f"another writer is at the document of {draft.source}").info()


def _claim_rows(cursor: Cursor, holder: int, drafts: Sequence[Draft]) -> _Claims:
    cursor.run("make_user")
    cursor.run("make_collections", names=sorted({draft.collection for draft in drafts}))
    claims = _Claims()
    new = _select_replacing(cursor, holder, drafts, claims)
    if new:
        _insert(cursor, holder, new, claims)
    hashes = {claims.keys[id(draft)][0]: draft.file_hash for draft in drafts if id(draft) in claims.keys}
    rows = cursor.all("make_versions", holder=holder, documents=list(hashes), hashes=list(hashes.values()))
    claims.versions = {row["document"]: row["pk"] for row in rows}
    return claims


def _select_replacing(cursor: Cursor, holder: int, drafts: Sequence[Draft], claims: _Claims) -> list[Draft]:
    """Claim the documents that get a next version. Return the drafts of new ones, including those now deleted."""
    wanted = {draft.replaces.pk: draft for draft in drafts if draft.replaces is not None}
    rows = cursor.all("claim_for_replacing", holder=holder, documents=sorted(wanted))
    taken = {row["pk"] for row in rows}
    held = {row.pk: row for row in documents.by_key(cursor, sorted(set(wanted) - taken))}
    new = [draft for draft in drafts if draft.replaces is None]
    for pk, draft in wanted.items():
        assert draft.replaces is not None
        if pk in taken:
            claims.keys[id(draft)] = (pk, draft.replaces.document.id)
        elif pk not in held:
            new.append(draft)
        elif held[pk].document.file_hash == draft.file_hash:
            claims.of_others[id(draft)] = pk
        else:
            claims.refused.add(id(draft))
    return new


def _insert(cursor: Cursor, holder: int, drafts: Sequence[Draft], claims: _Claims) -> None:
    rows = cursor.all("claim_documents", holder=holder, **_columns(documents.free_ids(cursor, drafts), drafts))
    rows_by_hash = {(row["collection"], row["file_hash"]): row for row in rows}
    others = _made_by_others(cursor, [draft for draft in drafts if _place(draft) not in rows_by_hash])
    sources: dict[tuple[str, ...], dict[str, object]] = {}
    for draft in drafts:
        row = rows_by_hash.get(_place(draft))
        if row is None:
            claims.of_others[id(draft)] = others[_place(draft)]
            continue
        claims.keys[id(draft)] = (row["pk"], row["id"])
        if row["inserted"]:
            place = {"collection": row["collection"], "source": clean(draft.source)}
            sources[tuple(place.values())] = {**place, "document": row["pk"]}
    cursor.many("put_sources", sources.values())


def _made_by_others(cursor: Cursor, drafts: Sequence[Draft]) -> dict[tuple[str, str], int]:
    if not drafts:
        return {}
    collections, hashes = zip(*map(_place, drafts), strict=True)
    rows = cursor.all("being_made", collections=collections, hashes=hashes)
    found = {(row["collection"], row["file_hash"]): row["pk"] for row in rows}
    if len(found) < len(drafts):
        raise WritersMet("a document was deleted while it was added")
    return found


def _place(draft: Draft) -> tuple[str, str]:
    return clean(draft.collection), draft.file_hash


def _columns(ids: Sequence[str], drafts: Sequence[Draft]) -> dict[str, list[object]]:
    return {
        "ids": list(ids),
        "collections": [draft.collection for draft in drafts],
        "sources": [draft.source for draft in drafts],
        "filenames": [draft.filename for draft in drafts],
        "hashes": [draft.file_hash for draft in drafts],
        "sizes": [draft.size for draft in drafts],
        "metadata": [pack_json(draft.metadata) for draft in drafts],
        "statuses": [draft.status for draft in drafts],
    }
