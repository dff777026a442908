"""What the groups of a store ask of its dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Database
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation
from footnotes.store.remote_keeper import RemoteKeeper
from footnotes.types import ErrorInfo


class Core(ABC):
    """How a dialect writes drafts, and how its legs follow."""

    database: Database
    remote: RemoteKeeper | None = None
    whole = 0
    """Characters up to which a text is kept whole in the row of its document."""

    @abstractmethod
    def holder(self, user_id: str) -> int:
        """The number under which this thread writes; 0, which is nobody's, where it does not or needs none."""

    @abstractmethod
    def job_holder(self, user_id: str, label: str) -> str:
        """How a job says who is at it."""

    @abstractmethod
    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """Whether another living writer is at a document."""

    @abstractmethod
    def changing(self, user_id: str) -> AbstractContextManager[Cursor]:
        """A transaction that changes what searches see. No generation begins to serve meanwhile."""

    @abstractmethod
    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Let the legs follow what was committed; with `removed`, leave nothing behind of what went."""

    @abstractmethod
    def publish(self, user_id: str, generation: Generation) -> None:
        """Let searches see all that was saved."""

    @abstractmethod
    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """A document has another title or file name: its chunks are found by other terms."""

    @abstractmethod
    def save_drafts(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None: ...

    @abstractmethod
    def discard_draft(self, user_id: str, draft: Draft, error: ErrorInfo) -> None: ...

    @abstractmethod
    def missing_vectors(self, user_id: str, generation: Generation, hashes: Sequence[bytes]) -> list[bytes]: ...

    @abstractmethod
    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None: ...

    @abstractmethod
    def put_chunks(
        self,
        cursor: Cursor,
        generation: Generation,
        row: DocumentRow,
        chunks: Sequence[ChunkDraft],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the version that is served, with vectors in half precision where there are any."""

    @abstractmethod
    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[ChunkDraft], version: str
    ) -> None: ...

    @abstractmethod
    def finish_copy(self, user_id: str) -> None:
        """Let searches see what was copied here."""

    @abstractmethod
    def own_tenant(self, cursor: Cursor) -> None:
        """Be the only one who changes what serves, until the transaction ends."""

    @abstractmethod
    def hold_generations(self, user_id: str) -> None:
        """Be the only one to build generations for a tenant, until this writer ends."""

    @abstractmethod
    def prepare_legs(self, generation: Generation) -> int:
        """Make the indexes of a generation ready before the first search meets it; the change they have seen."""

    @abstractmethod
    def drop_legs(self, generation: Generation) -> None:
        """Remove the indexes of a generation that is gone."""
