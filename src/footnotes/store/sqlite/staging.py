"""A new version of a document that is served: indexed beside the one before it, then shown in its place in one step.

Indexes take the chunks of both in. What a search reads from the database decides which of them it shows: before the
step the old version, after it the new one. Only then do the indexes forget the old chunks.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import apsw

from footnotes.store.facets import facets_of
from footnotes.store.records import DocumentRow, Draft, Generation, Publication
from footnotes.store.sqlite import documents
from footnotes.store.sqlite.sql import queries

ONLY_REMOVED = "removed"
"""The leg of a change that only says which keys went."""
_KEPT = ("collection", "source", "filename", "file_hash", "size", "ingestion_version")


@dataclass(frozen=True, slots=True)
class Version:
    """A version whose chunks indexes hold: the one that is served, or the next. `facets` where they are not in rows."""

    pk: int
    title: str
    facets: tuple[tuple[str, str], ...] | None
    waits: bool


def versions_of(connection: apsw.Connection, document: int) -> list[Version]:
    """The version that is served and the one that is staged, as far as there are any."""
    rows: list[Any] = connection.execute(queries()["versions_of"], (document,)).fetchall()
    return [Version(pk, title, _terms(facets), bool(waits)) for pk, title, facets, waits in rows]


def stage(connection: apsw.Connection, generation: Generation, before: DocumentRow, version: int, draft: Draft) -> None:
    """Tell the indexes of a new version. The document stays as it is until `show`."""
    what, user_id, at = draft.publication, generation.user_id, documents.now()
    assert what is not None
    after = replace(
        before.document,
        source=draft.source,
        filename=draft.filename,
        mime=what.mime,
        title=what.title,
        metadata=dict(what.metadata),
        updated_at=at,
    )
    kept = {name: getattr(draft, name) for name in _KEPT}
    packed = {**kept, "id": before.document.id, "at": at, "publication": asdict(what)}
    facets = [(facet.key, facet.text, facet.number) for facet in facets_of(after)]
    _drop_staged(connection, user_id, before)
    seq = documents.log_change(connection, user_id, generation.pk, before.pk, [])
    row = (before.pk, user_id, generation.pk, version, seq, what.title, _json(packed), _json(facets), int(draft.waits))
    connection.execute(queries()["stage"], row)


def _drop_staged(connection: apsw.Connection, user_id: str, before: DocumentRow) -> None:
    """Give up a version that was staged and never shown, because indexes could not be written meanwhile."""
    older: Any = connection.execute(queries()["staged_version"], (before.pk,)).fetchone()
    if older is None:
        return
    documents.log_removal(connection, user_id, replace(before, current=older[0]), leg=ONLY_REMOVED)
    connection.execute(queries()["drop_staged"], (before.pk,))
    documents.drop_version(connection, user_id, older[0])


def show(connection: apsw.Connection, generation: Generation, reached: int) -> bool:
    """Serve every staged version that the indexes have, in place of the one before. Says whether there was any."""
    bindings = (generation.user_id, generation.pk, reached)
    rows: list[Any] = connection.execute(queries()["staged"], bindings).fetchall()
    for document, version, seq, packed, facets, waits in rows:
        _show(connection, generation, document, version, json.loads(packed), json.loads(facets), bool(waits))
        connection.execute(queries()["require"], (seq, generation.user_id))
    return bool(rows)


def _show(
    connection: apsw.Connection,
    generation: Generation,
    document: int,
    version: int,
    packed: dict[str, Any],
    facets: list[Any],
    waits: bool,
) -> None:
    user_id = generation.user_id
    before = documents.find(connection, user_id, packed["id"])
    assert before is not None and before.current is not None
    connection.execute(queries()["drop_staged"], (document,))
    documents.log_removal(connection, user_id, before, leg=ONLY_REMOVED)
    draft = Draft(**{name: packed[name] for name in _KEPT}, metadata={}, waits=waits)
    draft.publication = Publication(**packed["publication"])
    documents.publish(connection, user_id, document, version, draft, generation, at=packed["at"])
    connection.execute(queries()["drop_facets"], (document,))
    connection.executemany(queries()["put_facet"], [(user_id, *facet, document) for facet in facets])
    documents.drop_version(connection, user_id, before.current)


def _terms(facets: str | None) -> tuple[tuple[str, str], ...] | None:
    return None if facets is None else tuple((key, text) for key, text, _ in json.loads(facets))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
