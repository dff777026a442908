"""A new version of a published document: indexed beside the previous one, then shown instead of it in one step.

Indexes contain the chunks of both. The database decides which of them a search shows: before the step the old version,
after it the new one. Only then do the indexes drop the old chunks.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from footnotes.store import documents
from footnotes.store.database import Cursor, Json, Row
from footnotes.store.facets import facets_of
from footnotes.store.records import DocumentRow, Draft, Generation, Publication
from footnotes.store.rows import published_values

ONLY_REMOVED = "removed"
"""The leg of a change that only removes keys."""
_KEPT = ("collection", "source", "filename", "file_hash", "size", "ingestion_version")


@dataclass(frozen=True, slots=True)
class Version:
    """A version whose chunks are in the indexes: the published or the next one. `facets` if they are not in rows."""

    pk: int
    title: str
    filename: str
    facets: tuple[tuple[str, str], ...] | None
    waits: bool


def versions_of(cursor: Cursor, document: int) -> list[Version]:
    """Return the published and the staged version, if they exist."""
    rows = cursor.all("versions_of", document=document)
    return [
        Version(row["version"], row["title"], row["filename"], _terms(row["facets"]), bool(row["waits"]))
        for row in rows
    ]


def lacks_vectors(cursor: Cursor, generation: Generation, version: int) -> bool:
    wanted = {"generation": generation.pk, "version": version, "model": generation.model}
    return cursor.value("lacks_vectors", **wanted) is not None


def publish(
    cursor: Cursor, generation: Generation, pk: int, version: int, draft: Draft, *, at: str | None = None
) -> None:
    """Publish a version: as `embedding` if it lacks vectors, else as `indexing` until both indexes have it."""
    values = published_values(draft)
    values |= {"metadata": Json(dict(values["metadata"])), "warnings": Json(list(values["warnings"]))}
    made = {"embedder": generation.embedder, "dimensions": generation.dimensions, "version": version}
    cursor.run("publish_document", document=pk, **values, **made, at=at or now())


def stage(cursor: Cursor, generation: Generation, before: DocumentRow, version: int, draft: Draft) -> None:
    """Log a new version for the indexes. The document stays as it is until `show`."""
    what, at = draft.publication, now()
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
    values = {name: getattr(draft, name) for name in _KEPT}
    packed = {**values, "id": before.document.id, "at": at, "publication": asdict(what)}
    facets = [(facet.key, facet.text, facet.number) for facet in facets_of(after)]
    _drop_staged(cursor, before)
    cursor.run(
        "stage",
        document=before.pk,
        generation=generation.pk,
        version=version,
        seq=cursor.value("log_change", generation=generation.pk, document=before.pk),
        title=what.title,
        draft=Json(packed),
        facets=Json(facets),
        waits=int(draft.waits),
    )


def _drop_staged(cursor: Cursor, before: DocumentRow) -> None:
    """Drop a version that was staged but never shown, because indexes could not be written meanwhile."""
    older = cursor.value("staged_version", document=before.pk)
    if older is not None:
        cursor.run("drop_staged", document=before.pk)
        documents.drop_versions(cursor, [older], leg=ONLY_REMOVED)


def show(cursor: Cursor, generation: Generation, reached: int) -> bool:
    """Publish every staged version that the indexes have. Return whether there was any.

    Only one document of a collection may have the same bytes. Documents may have exchanged theirs, so all of them
    release their bytes first. A version is dropped if another document got its bytes before it could be shown.
    """
    rows = cursor.all("staged", generation=generation.pk, seq=reached)
    before = {row["document"]: documents.get(cursor, json.loads(row["draft"])["id"]) for row in rows}
    lost = _overtaken(cursor, rows, before)
    for document in lost:
        _drop_staged(cursor, before[document])
    live_rows = [row for row in rows if row["document"] not in lost]
    cursor.many("release_bytes", [{"document": row["document"]} for row in live_rows])
    for row in live_rows:
        _show(cursor, generation, row, before[row["document"]])
        cursor.run("require", seq=row["seq"])
    return bool(rows)


def _overtaken(cursor: Cursor, rows: list[Row], before: dict[int, DocumentRow]) -> set[int]:
    """Return the documents whose staged bytes belong to another document that keeps them."""
    wanted = {row["document"]: _bytes_of(json.loads(row["draft"])) for row in rows}
    lost: set[int] = set()
    while True:
        more = {
            document
            for document, (collection, file_hash) in wanted.items()
            if document not in lost
            and (other := cursor.one("document_by_hash", collection=collection, file_hash=file_hash)) is not None
            and other["pk"] != document
            and (other["pk"] not in before or other["pk"] in lost)
        }
        if not more:
            return lost
        lost |= more


def _bytes_of(packed: dict[str, Any]) -> tuple[str, str]:
    return packed["collection"], packed["file_hash"]


def _show(cursor: Cursor, generation: Generation, row: Row, before: DocumentRow) -> None:
    document, packed = row["document"], json.loads(row["draft"])
    assert before.current is not None
    cursor.run("drop_staged", document=document)
    draft = Draft(**{name: packed[name] for name in _KEPT}, metadata={}, waits=bool(row["waits"]))
    draft.publication = Publication(**packed["publication"])
    publish(cursor, generation, document, row["version"], draft, at=packed["at"])
    cursor.run("drop_facets", documents=[document])
    cursor.many("put_facets", [_facet(document, *facet) for facet in json.loads(row["facets"])])
    documents.drop_versions(cursor, [before.current], leg=ONLY_REMOVED)


def _facet(document: int, key: str, text: str, number: float | None) -> dict[str, object]:
    return {"document": document, "key": key, "text": text, "number": number}


def _terms(facets: str | None) -> tuple[tuple[str, str], ...] | None:
    return None if facets is None else tuple((key, text) for key, text, _ in json.loads(facets))


def now() -> str:
    """Return the current time as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
