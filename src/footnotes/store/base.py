"""The shared implementation of stores. A dialect adds how drafts are written, and how its legs follow."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path

from footnotes.store import verify
from footnotes.store.collections import Collections
from footnotes.store.conversations import Conversations
from footnotes.store.copying import Side
from footnotes.store.core import Core
from footnotes.store.documents import Documents
from footnotes.store.generations import Generations
from footnotes.store.jobs import Jobs
from footnotes.store.memories import Memories
from footnotes.store.originals import Originals
from footnotes.store.records import Generation, Problem, Verification
from footnotes.store.sources import Sources
from footnotes.store.vectors import Vectors
from footnotes.types import DenseIndex, ErrorInfo, IndexState


class BaseStore(Core):
    """All operations of a store for many tenants, on any database that has the named queries."""

    folder: Path
    originals: Originals

    def __init__(self) -> None:
        self.documents = Documents(self)
        self.vectors = Vectors(self)
        self.generations = Generations(self)
        self.collections = Collections(self)
        self.jobs = Jobs(self)
        self.conversations = Conversations(self)

    # ── what a dialect adds to `Core`

    @abstractmethod
    def check_database(self, user_id: str) -> Iterator[Problem]:
        """Yield problems in the database itself."""

    @abstractmethod
    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """Yield problems in the legs."""

    @abstractmethod
    def rebuild_legs(self, generation: Generation) -> list[str]:
        """Rebuild the legs from the stored data; return what was repaired."""

    def take_notes(self, generation: Generation) -> list[str]:
        """Return repairs made before this check."""
        return []

    # ── common to all stores

    def users(self) -> list[str]:
        with self.database.read("") as cursor:
            return [row["user_id"] for row in cursor.all("users")]

    def size(self, user_id: str) -> int:
        """Return the bytes in the folder, including other tenants' data."""
        return sum(_size(Path(folder, name)) for folder, _, names in os.walk(self.folder) for name in names)

    def sources(self, user_id: str, collection: str) -> Sources:
        return Sources(self, user_id, collection)

    def memories(self, user_id: str) -> Memories:
        """Return the stored answers of models about the tenant's texts."""
        return Memories(self.database, user_id)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why the vector database could not be updated; the changes wait in the log."""
        return self.remote.failure.info() if self.remote is not None and self.remote.failure is not None else None

    def index_state(self, user_id: str) -> IndexState | None:
        """Return the state of the vector database that serves legs; None if there is none."""
        return None if self.remote is None else self.remote.state(self.generations.serving(user_id))

    def dense_index(self, user_id: str) -> DenseIndex | None:
        """Return the index of the vectors, if the database builds one itself."""
        return None

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check all data of a tenant; with `repair`, rebuild what can be rebuilt."""
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
        if self.remote is not None:
            found.add(self.remote.verified(generation, repair=repair))
        return found

    def copy_side(self, user_id: str) -> Side:
        """Return the tenant's library as one side of a copy between stores."""
        return Side(self, user_id)


def _size(path: Path) -> int:
    """Return the size of a file; 0 if it was deleted since it was listed, as a writer may be active."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
