"""Vectors: which inputs lack one, and the documents that wait for theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from footnotes.store import waiting
from footnotes.store.core import Core
from footnotes.store.records import Generation, PendingChunk
from footnotes.store.retry import retrying
from footnotes.types import DocumentStatus, ErrorInfo


class Vectors:
    """The vectors of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def missing(self, user_id: str, generation: Generation, hashes: Iterable[bytes]) -> list[bytes]:
        """Which inputs have not been embedded by the generation's model yet, each once, in order."""
        return self._core.missing_vectors(user_id, generation, list(hashes))

    def save(self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._core.save_vectors(user_id, generation, hashes, vectors)

    def waiting(self, user_id: str) -> list[int]:
        """Documents that are found by their words and wait for their vectors, oldest first."""
        with self._core.database.read(user_id) as cursor:
            return waiting.listed(cursor)

    @retrying
    def claim(self, user_id: str) -> list[int]:
        """Some or all of those that wait and that nobody else is at: they are the caller's to embed now."""
        with self._core.database.write(user_id) as cursor:
            return waiting.claim(cursor, self._core.holder(user_id))

    def count_waiting(self, user_id: str) -> int:
        with self._core.database.read(user_id) as cursor:
            return waiting.count_chunks(cursor)

    def inputs(self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int) -> list[PendingChunk]:
        """What is still to be embedded of a document, in order, beginning after a chunk."""
        with self._core.database.snapshot(user_id) as cursor:
            return waiting.inputs(cursor, generation, pk, after, limit)

    def inputs_of_small(
        self, user_id: str, generation: Generation, pks: Sequence[int], *, most: int
    ) -> dict[int, list[PendingChunk]]:
        """What is still to be embedded of those documents that have at most so many chunks; others are left out."""
        with self._core.database.snapshot(user_id) as cursor:
            return waiting.inputs_of_small(cursor, generation, pks, most)

    @retrying
    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Say of the documents that wait whether somebody is at it, and if not, why."""
        with self._core.database.write(user_id) as cursor:
            waiting.set_all(cursor, self._core.holder(user_id), status, error)

    @retrying
    def finish(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """All vectors of these documents are saved: they become ready."""
        with self._core.database.write(user_id) as cursor:
            waiting.finish(cursor, self._core.holder(user_id), generation, pks)
        self._core.publish(user_id, generation)
