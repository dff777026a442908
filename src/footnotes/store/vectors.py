"""Vectors: inputs that lack one, and documents that wait for theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from footnotes.store import waiting
from footnotes.store.core import Core
from footnotes.store.records import Generation, PendingChunk, Waiting
from footnotes.store.retry import retrying
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
        """Count the documents with published text that wait for their vectors, and their chunks."""
        with self._core.database.snapshot(user_id) as cursor:
            return waiting.count(cursor)

    @retrying
    def claim(self, user_id: str) -> list[int]:
        """Claim waiting documents that no other writer holds, for the caller to embed now."""
        with self._core.database.write(user_id) as cursor:
            return waiting.claim(cursor, self._core.holder(user_id))

    def inputs(self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int) -> list[PendingChunk]:
        """Return the inputs of a document that lack vectors, in order, after a given chunk."""
        with self._core.database.snapshot(user_id) as cursor:
            return waiting.inputs(cursor, generation, pk, after, limit)

    def inputs_of_small(
        self, user_id: str, generation: Generation, pks: Sequence[int], *, most: int
    ) -> dict[int, list[PendingChunk]]:
        """Return the inputs that lack vectors for documents of at most `limit` chunks; others are left out."""
        with self._core.database.snapshot(user_id) as cursor:
            return waiting.inputs_of_small(cursor, generation, pks, most)

    @retrying
    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Set the status of waiting documents: whether a writer is embedding them, and if not, why."""
        with self._core.database.write(user_id) as cursor:
            waiting.set_all(cursor, self._core.holder(user_id), status, error)

    @retrying
    def finish(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """Mark these documents as ready, now that all their vectors are saved."""
        with self._core.database.write(user_id) as cursor:
            waiting.finish(cursor, self._core.holder(user_id), generation, pks)
        self._core.publish(user_id, generation)
