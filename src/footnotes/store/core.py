"""The operations that the parts of a store need from its dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Cursor, Database
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation
from footnotes.store.remote_keeper import RemoteKeeper


class Core(ABC):
    """How a dialect writes drafts, and how its legs follow."""

    database: Database
    remote: RemoteKeeper | None = None
    whole = 0
    """Texts of up to this many characters are stored whole in the document's row."""

    @abstractmethod
    def holder(self, user_id: str) -> int:
        """Return the number under which this thread writes; 0 if it does not write or needs none."""

    @contextmanager
    def changing(self, user_id: str) -> Iterator[Cursor]:
        """Open a transaction that changes what searches see; a search that notices it starts again.

        No generation is published meanwhile.
        """
        with self.database.write(user_id) as cursor:
            cursor.run("share_tenant")
            yield cursor
            cursor.run("bump")

    @abstractmethod
    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Let the legs follow a commit; with `removed`, purge the removed data."""

    @abstractmethod
    def publish(self, user_id: str, generation: Generation, *, behind: bool = False) -> None:
        """Publish everything saved; `behind` lets another process do it, if it can."""

    @abstractmethod
    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """Rewrite the terms of a document's chunks after its title or file name changed."""

    @abstractmethod
    def save_drafts(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None: ...

    def kept_vectors(self, generation: Generation) -> Container[bytes]:
        """Return the inputs whose vectors this writer keeps until their chunks are written."""
        return ()

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
        """Write chunks of the published version, with vectors in half precision if there are any."""

    @abstractmethod
    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, drafts: Sequence[ChunkDraft], version: str
    ) -> None: ...

    @abstractmethod
    def finish_copy(self, user_id: str) -> None:
        """Publish the documents copied here."""

    @abstractmethod
    def hold_generations(self, user_id: str) -> None:
        """Lock the building of generations for a tenant until this writer ends."""

    @abstractmethod
    def prepare_legs(self, generation: Generation) -> int:
        """Prepare the indexes of a generation for their first search; return the change they have reached."""

    @abstractmethod
    def drop_legs(self, generation: Generation) -> None:
        """Remove the indexes of a dropped generation."""
