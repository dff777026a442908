"""The one implementation of a store. A dialect adds how drafts are written, and how its legs follow them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.store import verify
from footnotes.store.copying import Side
from footnotes.store.database import Cursor, Database
from footnotes.store.groups.collections import Collections
from footnotes.store.groups.documents import Documents
from footnotes.store.groups.generations import Generations
from footnotes.store.groups.jobs import Jobs
from footnotes.store.groups.vectors import Vectors
from footnotes.store.memories import Memories
from footnotes.store.originals import Originals
from footnotes.store.outside import Outside
from footnotes.store.records import DocumentRow, Draft, Generation, NewChunk, Problem, Verification
from footnotes.store.sources import Sources
from footnotes.types import ErrorInfo, IndexState


class BaseStore(ABC):
    """Everything of many tenants, over any database that speaks the named queries; see `groups`."""

    folder: Path
    database: Database
    originals: Originals
    outside: Outside | None = None
    whole = 0
    """Characters up to which a text is kept whole in the row of its document."""

    def __init__(self) -> None:
        self.documents = Documents(self)
        self.vectors = Vectors(self)
        self.generations = Generations(self)
        self.collections = Collections(self)
        self.jobs = Jobs(self)

    # ── what a dialect adds

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
    def save_drafts(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, and replace the version before them."""

    @abstractmethod
    def discard_draft(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""

    @abstractmethod
    def missing_vectors(self, user_id: str, generation: Generation, hashes: Sequence[bytes]) -> list[bytes]:
        """Which inputs have not been embedded by the generation's model yet, each once, in order."""

    @abstractmethod
    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None: ...

    @abstractmethod
    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[NewChunk], version: str
    ) -> None:
        """Write the chunks of a document in a generation that does not serve yet, in one transaction."""

    @abstractmethod
    def changing(self, user_id: str) -> AbstractContextManager[Cursor]:
        """A transaction that changes what searches see. No generation begins to serve meanwhile."""

    @abstractmethod
    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Let the legs follow what was committed; with `removed`, leave nothing behind of what went."""

    @abstractmethod
    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """A document has another title: its chunks are found by other terms."""

    @abstractmethod
    def put_chunks(
        self,
        cursor: Cursor,
        generation: Generation,
        row: DocumentRow,
        chunks: Sequence[NewChunk],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the version that is served, with vectors in half precision where there are any."""

    @abstractmethod
    def finish_copy(self, user_id: str) -> None:
        """Let searches see what was copied here."""

    @abstractmethod
    def publish(self, user_id: str, generation: Generation) -> None:
        """Let searches see all that was saved: only now are documents ready."""

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

    @abstractmethod
    def check_database(self, user_id: str) -> Iterator[Problem]:
        """What does not hold in the database itself."""

    @abstractmethod
    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """What does not hold in the legs."""

    @abstractmethod
    def rebuild_legs(self, generation: Generation) -> list[str]:
        """Make the legs again from what is stored; what was repaired."""

    def take_notes(self, generation: Generation) -> list[str]:
        """What was repaired before anybody asked."""
        return []

    # ── what every store does

    def users(self) -> list[str]:
        with self.database.read("") as cursor:
            return [row["user_id"] for row in cursor.all("users")]

    def size(self, user_id: str) -> int:
        """Bytes of the folder, with what other tenants have in it."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def sources(self, user_id: str, collection: str) -> Sources:
        return Sources(self, user_id, collection)

    def memories(self, user_id: str) -> Memories:
        """What models said of the tenant's texts."""
        return Memories(self.database, user_id)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; they wait in the log."""
        return self.outside.failure.info() if self.outside is not None and self.outside.failure is not None else None

    def index_state(self, user_id: str) -> IndexState | None:
        """How the vector database is doing that serves legs; None where there is none."""
        return None if self.outside is None else self.outside.state(self.generations.serving(user_id))

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check everything of a tenant; with `repair`, mend what can be made again."""
        found = Verification()
        found.problems.extend(self.check_database(user_id))
        generation = self.generations.serving(user_id)
        if generation is None or any(not problem.mendable for problem in found.problems):
            return found
        intact = 0
        for item in verify.check_text(self.database, generation, input_hash):
            if isinstance(item, Problem):
                found.problems.append(item)
            else:
                intact += item
        if repair:
            found.repaired.extend(verify.drop_misfit_vectors(self.database, generation))
        found.problems.extend(verify.check_vectors(self.database, generation))
        found.problems.extend(self.check_legs(generation))
        found.checked = {"documents": self.documents.counts(user_id)["ready"], "chunks": intact}
        if repair and any(problem.mendable for problem in found.problems):
            found.repaired.extend(self.rebuild_legs(generation))
            found.problems = [problem for problem in found.problems if not problem.mendable]
            found.problems.extend(self.check_legs(generation))
        found.repaired.extend(self.take_notes(generation))
        if self.outside is not None:
            found.add(self.outside.verified(generation, repair=repair))
        return found

    def copy_side(self, user_id: str) -> Side:
        """The tenant's library as one side of a copy to or from another store."""
        return Side(self, user_id)
