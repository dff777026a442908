"""Vectors: inputs that lack one, and documents whose text is published while their vectors are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from footnotes.store.core import Core
from footnotes.store.database import Row
from footnotes.store.packing import unpack_headings
from footnotes.store.records import Generation, PendingChunk, Waiting
from footnotes.store.retry import retrying
from footnotes.store.rows import packed_error, parts_from
from footnotes.store.texts import SpanReader
from footnotes.types import DocumentStatus, ErrorInfo


class Vectors:
    """The vectors of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def missing(self, user_id: str, generation: Generation, hashes: Iterable[bytes]) -> list[bytes]:
        """Return the inputs that the generation's model has not embedded yet, each once, in order."""
        return self._core.missing_vectors(user_id, generation, list(hashes))

    def save(self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._core.save_vectors(user_id, generation, hashes, vectors)

    def waiting(self, user_id: str) -> Waiting:
        """Count the documents that wait for their vectors, and their chunks; some of these may have vectors already."""
        with self._core.database.snapshot(user_id) as cursor:
            return Waiting(len(cursor.all("waiting_documents")), int(cursor.value("waiting_chunks")))

    @retrying
    def claim(self, user_id: str) -> list[int]:
        """Claim waiting documents that no other live writer holds, for the caller to embed now."""
        with self._core.database.write(user_id) as cursor:
            return sorted(row["pk"] for row in cursor.all("claim_waiting", holder=self._core.holder(user_id)))

    def inputs(self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int) -> list[PendingChunk]:
        """Return the inputs of a document that lack vectors, in order, after a given chunk."""
        wanted = {"generation": generation.pk, "model": generation.model, "document": pk}
        with self._core.database.snapshot(user_id) as cursor:
            rows = cursor.all("inputs_without_vector", **wanted, after=after, limit=limit)
            reader = SpanReader(cursor, rows[0]["version"]) if rows else None
            return [_input(row, reader) for row in rows]

    def inputs_of_small(
        self, user_id: str, generation: Generation, pks: Sequence[int], *, most: int
    ) -> dict[int, list[PendingChunk]]:
        """Return the inputs that lack vectors for documents of at most `most` chunks; others are left out."""
        wanted = {"generation": generation.pk, "model": generation.model, "documents": list(pks)}
        with self._core.database.snapshot(user_id) as cursor:
            large = {row["pk"] for row in cursor.all("large_documents", documents=list(pks), most=most)}
            found: dict[int, list[PendingChunk]] = {pk: [] for pk in pks if pk not in large}
            for row in cursor.all("inputs_of_documents", **wanted, most=most):
                found[row["document"]].append(_input(row, SpanReader(cursor, row["version"])))
        return found

    @retrying
    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Set the status of waiting documents: whether a writer is embedding them, and if not, why."""
        holder = self._core.holder(user_id)
        with self._core.database.write(user_id) as cursor:
            cursor.run("set_waiting", holder=holder, status=status, error=packed_error(error))

    @retrying
    def finish(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """Mark documents with all vectors as ready, or as indexing until the indexes have them."""
        holder, keys = self._core.holder(user_id), list(pks)
        with self._core.database.write(user_id) as cursor:
            if cursor.run("finish_waiting", holder=holder, generation=generation.pk, documents=keys):
                cursor.run("bump")
            cursor.run("note_vectors", generation=generation.pk, documents=keys)
        self._core.publish(user_id, generation)


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
