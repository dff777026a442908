"""Documents whose text is published while their vectors are missing."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.database import Cursor, Row
from footnotes.store.packing import unpack_headings
from footnotes.store.records import Generation, PendingChunk, Waiting
from footnotes.store.rows import packed_error, parts_from
from footnotes.store.texts import SpanReader
from footnotes.types import DocumentStatus, ErrorInfo


def claim(cursor: Cursor, holder: int) -> list[int]:
    """Claim waiting documents that no live writer holds."""
    return sorted(row["pk"] for row in cursor.all("claim_waiting", holder=holder))


def count(cursor: Cursor) -> Waiting:
    """Count them and their chunks; some of these may have vectors already."""
    return Waiting(len(cursor.all("waiting_documents")), int(cursor.value("waiting_chunks")))


def inputs(cursor: Cursor, generation: Generation, pk: int, after: int, limit: int) -> list[PendingChunk]:
    """Return the inputs of a document that lack vectors, in order, after a given chunk."""
    wanted = {"generation": generation.pk, "model": generation.model, "document": pk}
    rows = cursor.all("inputs_without_vector", **wanted, after=after, limit=limit)
    reader = SpanReader(cursor, rows[0]["version"]) if rows else None
    return [_input(row, reader) for row in rows]


def inputs_of_small(
    cursor: Cursor, generation: Generation, pks: Sequence[int], most: int
) -> dict[int, list[PendingChunk]]:
    """Return the inputs that lack vectors for documents with few chunks, in order; others are left out."""
    wanted = {"generation": generation.pk, "model": generation.model, "documents": list(pks)}
    large = {row["pk"] for row in cursor.all("large_documents", documents=list(pks), most=most)}
    found: dict[int, list[PendingChunk]] = {pk: [] for pk in pks if pk not in large}
    for row in cursor.all("inputs_of_documents", **wanted, most=most):
        found[row["document"]].append(_input(row, SpanReader(cursor, row["version"])))
    return found


def _input(row: Row, reader: SpanReader | None) -> PendingChunk:
    assert reader is not None
    start, end, text = row["start_offset"], row["end_offset"], row["content"]
    if text is not None and len(text) != end - start:
        text = None
    return PendingChunk(
        index=row["chunk_index"],
        input_hash=row["input_hash"],
        start=start,
        tokens=row["tokens"],
        prefix=row["prefix"],
        headings=unpack_headings(row["headings"]),
        parts=parts_from(row["parts"]),
        text=reader.read(start, end) if text is None else text,
    )


def set_all(cursor: Cursor, holder: int, status: DocumentStatus, error: ErrorInfo | None) -> None:
    """Set the status of documents held by a writer or by none: whether one is embedding them, and if not, why."""
    cursor.run("set_waiting", holder=holder, status=status, error=packed_error(error))


def finish(cursor: Cursor, holder: int, generation: Generation, pks: Sequence[int]) -> None:
    """Mark documents with all vectors as ready, or as indexing until the indexes have them."""
    keys = list(pks)
    if cursor.run("finish_waiting", holder=holder, generation=generation.pk, documents=keys):
        cursor.run("bump")
    cursor.run("note_vectors", generation=generation.pk, documents=keys)
