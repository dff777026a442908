"""The shared implementation of stores. A dialect adds how drafts are written, and how its legs follow."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

from footnotes.errors import FootnotesError
from footnotes.store.collections import Collections
from footnotes.store.conversations import Conversations
from footnotes.store.copying import Side
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Database, Row
from footnotes.store.documents import Documents
from footnotes.store.generations import Generations
from footnotes.store.jobs import Jobs
from footnotes.store.memories import Memories
from footnotes.store.naming import embedding_input, input_hash
from footnotes.store.originals import Originals
from footnotes.store.packing import HALF_BYTES
from footnotes.store.records import Generation, Problem, StoreState, Verification
from footnotes.store.sources import Sources
from footnotes.store.texts import read_span
from footnotes.store.vectors import Vectors
from footnotes.types import DenseIndex, ErrorInfo

_AT_ONCE = 1_000


class BaseStore(Core):
    """All operations of a store for many tenants, on any database that has the named queries."""

    address: str
    folder: Path
    originals: Originals
    stores_terms = False

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

    def state(self, user_id: str) -> StoreState:
        """Return what a person wants to know of a tenant's library that no other method counts."""
        serving = self.generations.serving(user_id)
        remote = None if self.remote is None else self.remote.state(serving)
        return StoreState(self.size(user_id), remote, self.dense_index(serving))

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

    def dense_index(self, generation: Generation | None) -> DenseIndex | None:
        """Return the index of the vectors, if the database builds one itself."""
        return None

    def verify(self, user_id: str, *, repair: bool = False) -> Verification:
        """Check all data of a tenant; with `repair`, rebuild what can be rebuilt."""
        found = Verification()
        found.problems.extend(self.check_database(user_id))
        generation = self.generations.serving(user_id)
        if generation is not None and all(problem.mendable for problem in found.problems):
            self._verify_generation(found, generation, repair=repair)
        for item in self.originals.check(user_id, repair=repair):
            found.count("originals", item)
        return found

    def _verify_generation(self, found: Verification, generation: Generation, *, repair: bool) -> None:
        """Check texts, chunks, vectors and the legs of a generation."""
        found.checked = {"documents": 0, "chunks": 0}
        for item in check_text(self.database, generation):
            found.count("chunks", item)
        if repair:
            found.repaired.extend(drop_misfit_vectors(self.database, generation))
        found.problems.extend(check_vectors(self.database, generation))
        found.problems.extend(self.check_legs(generation))
        found.checked["documents"] = self.documents.counts(generation.user_id)["ready"]
        if repair and any(problem.mendable for problem in found.problems):
            found.repaired.extend(self.rebuild_legs(generation))
            found.problems = [problem for problem in found.problems if not problem.mendable]
            found.problems.extend(self.check_legs(generation))
        found.repaired.extend(self.take_notes(generation))
        if self.remote is not None:
            found.add(self.remote.verified(generation, repair=repair))

    def copy_side(self, user_id: str) -> Side:
        """Return the tenant's library as one side of a copy between stores."""
        return Side(self, user_id)


def _size(path: Path) -> int:
    """Return the size of a file; 0 if it was deleted since it was listed, as a writer may be active."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# ── checks stored data: texts against chunks, chunks against their input hashes and vectors ───────────────────


def check_text(database: Database, generation: Generation) -> Iterator[Problem | int]:
    """Check every chunk's text against its document and its hash; yields 1 for each valid one."""
    after = 0
    while True:
        with database.snapshot(generation.user_id) as cursor:
            rows = cursor.all("chunk_inputs", generation=generation.pk, after=after, limit=_AT_ONCE)
            found = [_check(cursor, row) for row in rows]
        if not rows:
            return
        yield from found
        after = rows[-1]["key"]


def _check(cursor: Cursor, row: Row) -> Problem | int:
    name = f"document {row['document_id']}: chunk {row['key']}"
    try:
        text = row["span"]
        if text is None:
            text = read_span(cursor, row["version"], row["start_offset"], row["end_offset"])
    except FootnotesError as error:
        return Problem(f"document {row['document_id']}: {error.message}", mendable=False)
    if row["content"] is not None and text != row["content"]:
        return Problem(f"{name} does not match the text of the document", mendable=False)
    holds = input_hash(embedding_input(row["prefix"], text)) == row["input_hash"]
    return 1 if holds else Problem(f"{name} does not match its hash", mendable=False)


def check_vectors(database: Database, generation: Generation) -> Iterator[Problem]:
    """Check that every chunk of a `ready` document has a vector of the generation's dimensions."""
    with database.read(generation.user_id) as cursor:
        row = cursor.one("wrong_vectors", **_vectors(generation))
    assert row is not None
    if row["missing"]:
        yield Problem(f"{row['missing']} chunks have no vector", mendable=False)
    if row["misfit"]:
        yield Problem(f"{row['misfit']} vectors do not have {generation.dimensions} dimensions", mendable=True)


def drop_misfit_vectors(database: Database, generation: Generation) -> list[str]:
    """Remove vectors whose length differs from their model's, and let their documents wait for new ones."""
    with database.write(generation.user_id) as cursor:
        if not (dropped := cursor.run("drop_misfit_vectors", **_vectors(generation))):
            return []
        cursor.run("requeue_without_vectors", **_vectors(generation))
    return [f"{dropped} vectors of a wrong length removed: run `footnotes resume` to make them again"]


def _vectors(generation: Generation) -> dict[str, int]:
    size = generation.dimensions
    return {"generation": generation.pk, "model": generation.model, "dimensions": size, "bytes": size * HALF_BYTES}
