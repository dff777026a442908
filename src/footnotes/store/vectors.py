"""Vectors: inputs that lack one, and documents whose text is published while their vectors are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from footnotes.store.chunks import missing_vectors
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Row
from footnotes.store.packing import unpack_headings
from footnotes.store.records import Generation, PendingChunk
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
        kept = self._core.kept_vectors(generation)
        with self._core.database.read(user_id) as cursor:
            return [value for value in missing_vectors(cursor, generation.model, hashes) if value not in kept]

    def save(self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._core.save_vectors(user_id, generation, hashes, vectors)

    @retrying
    def claim(self, user_id: str) -> tuple[list[int], int]:
        """Claim waiting documents that no other live writer holds, for the caller to embed now.

        Returns their keys in order, and the number of chunks of all waiting documents.
        """
        with self._core.database.write(user_id) as cursor:
            claimed = sorted(row["pk"] for row in cursor.all("claim_waiting", holder=self._core.holder(user_id)))
            if claimed:
                self._set_waiting(cursor, user_id, "embedding", None)
            return claimed, int(cursor.value("waiting_chunks"))

    def inputs(
        self, user_id: str, generation: Generation, pks: Sequence[int], *, after: tuple[int, int], limit: int
    ) -> list[PendingChunk]:
        """Return inputs of documents that lack vectors, by document and chunk, after a chunk of a document."""
        wanted = {"generation": generation.pk, "model": generation.model, "documents": list(pks), "limit": limit}
        with self._core.database.snapshot(user_id) as cursor:
            rows = cursor.all("inputs_without_vector", **wanted, first=after[0], after=after[1], last=max(pks))
            readers = {row["version"]: SpanReader(cursor, row["version"]) for row in rows}
            return [_input(row, readers[row["version"]]) for row in rows]

    @retrying
    def pause(self, user_id: str, error: ErrorInfo) -> None:
        """Let claimed documents wait for a later attempt, and record why."""
        with self._core.database.write(user_id) as cursor:
            self._set_waiting(cursor, user_id, "queued", error)

    def _set_waiting(self, cursor: Cursor, user_id: str, status: DocumentStatus, error: ErrorInfo | None) -> None:
        cursor.run("set_waiting", holder=self._core.holder(user_id), status=status, error=packed_error(error))

    @retrying
    def finish(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """Mark documents with all vectors as ready, or as indexing until the indexes have them."""
        holder, keys = self._core.holder(user_id), list(pks)
        with self._core.database.write(user_id) as cursor:
            if cursor.run("finish_waiting", holder=holder, generation=generation.pk, documents=keys):
                cursor.run("bump")
            cursor.run("note_vectors", generation=generation.pk, documents=keys)
        self._core.publish(user_id, generation)


def _input(row: Row, reader: SpanReader) -> PendingChunk:
    start, end, text = row["start_offset"], row["end_offset"], row["content"]
    if text is not None and len(text) != end - start:
        text = None
    return PendingChunk(
        document=row["document"],
        index=row["chunk_index"],
        input_hash=row["input_hash"],
        start=start,
        tokens=row["tokens"],
        prefix=row["prefix"],
        headings=unpack_headings(row["headings"]),
        parts=parts_from(row["parts"]),
        text=reader.read(start, end) if text is None else text,
    )
