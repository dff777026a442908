"""Generations: built beside the serving one, switched in one transaction, and dropped with all their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from footnotes.errors import NotFound
from footnotes.store import documents
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Json
from footnotes.store.lexemes import made_by
from footnotes.store.naming import without_collection
from footnotes.store.records import ChunkDraft, DocumentRow, Generation
from footnotes.store.retry import retrying
from footnotes.store.rows import generation_row

Choices = Mapping[str, Sequence[str | None]]
"""The chunker and its options for every collection."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings to build a generation with."""

    embedder: str
    fingerprint: str
    dimensions: int
    plan: dict[str, object]


def serving(cursor: Cursor) -> Generation | None:
    """Return the generation that searches use."""
    row = cursor.one("serving")
    return None if row is None else generation_row(row)


def get(cursor: Cursor, pk: int) -> Generation:
    """Return a generation. Raises `NotFound` if there is none."""
    row = cursor.one("generation", generation=pk)
    if row is None:
        raise NotFound(f"there is no generation {pk}")
    return generation_row(row)


def listed(cursor: Cursor) -> list[Generation]:
    return [generation_row(row) for row in cursor.all("generations")]


def make(cursor: Cursor, recipe: Recipe, state: str) -> Generation:
    """Create a generation; a tenant's first one serves at once."""
    model = {"fingerprint": recipe.fingerprint, "embedder": recipe.embedder, "dimensions": recipe.dimensions}
    cursor.run("make_user")
    cursor.run("put_model", **model)
    plan = Json(recipe.plan)
    pk = cursor.value("make_generation", **model, plan=plan, state=state, lexemes=made_by())
    if state == "serving":
        cursor.run("set_serving", generation=pk, seq=0)
    return get(cursor, pk)


def switch(cursor: Cursor, to: Generation, seq: int) -> None:
    """Make `to` the serving generation, whose indexes have reached a change; keep the previous one."""
    current = serving(cursor)
    if current is not None and current.pk != to.pk:
        cursor.run("set_generation_state", generation=current.pk, state="kept")
    cursor.run("set_generation_state", generation=to.pk, state="serving")
    cursor.run("set_serving", generation=to.pk, seq=seq)
    cursor.run("apply_planned", generation=to.pk, embedder=to.embedder, dimensions=to.dimensions)
    cursor.run("apply_planned_facets", generation=to.pk)
    cursor.run("finish_all_waiting", generation=to.pk)


def choose(cursor: Cursor, choices: Choices) -> None:
    for name, (chunker, options) in choices.items():
        cursor.run("set_chunker", name=name, chunker=chunker, chunker_options=options)


def put_planned(cursor: Cursor, generation: int, document: int, ingestion_version: str, chunks: int) -> None:
    """Record data on a document in a generation; the document takes it over when the generation is published."""
    row = {"generation": generation, "document": document, "ingestion_version": ingestion_version, "chunks": chunks}
    cursor.many("put_planned", [row])


def drop_collection(cursor: Cursor, name: str) -> None:
    """Remove a collection without documents, also from the plans of generations."""
    for query in ("drop_collection", "drop_collection_origins", "drop_collection_jobs"):
        cursor.run(query, name=name)
    for generation in listed(cursor):
        plan = without_collection(generation.plan, name)
        if plan != generation.plan:
            cursor.run("set_plan", generation=generation.pk, plan=Json(plan))


def drop(cursor: Cursor, generation: Generation) -> None:
    """Remove a generation that does not serve, with its chunks and unused vectors."""
    for query in ("drop_generation_chunks", "drop_generation_log", "drop_generation"):
        cursor.run(query, generation=generation.pk)
    cursor.run("drop_unused_vectors")


class Generations:
    """The generations of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def serving(self, user_id: str) -> Generation | None:
        with self._core.database.read(user_id) as cursor:
            return serving(cursor)

    def all(self, user_id: str) -> list[Generation]:
        with self._core.database.read(user_id) as cursor:
            return listed(cursor)

    @retrying
    def ensure(self, user_id: str, recipe: Recipe) -> Generation:
        """Return the serving generation. If the tenant has none, one of the concurrent callers creates it."""
        if (found := self.serving(user_id)) is not None:
            return found
        with self._core.database.write(user_id) as cursor:
            cursor.run("own_tenant")  # other writers wait until this transaction ends
            current = serving(cursor) or make(cursor, recipe, "serving")
        if self._core.remote is not None:
            self._core.remote.note(current)
        return current

    def begin(self, user_id: str, recipe: Recipe) -> Generation:
        """Return a generation to build. One with the same plan is continued; others are dropped.

        The serving generation's chunkers are recorded, so that a rollback can restore them.
        """
        self._core.hold_generations(user_id)
        with self._core.database.write(user_id) as cursor:
            if (found := serving(cursor)) is not None:
                choices = {row["name"]: [row["chunker"], row["chunker_options"]] for row in cursor.all("collections")}
                cursor.run("set_plan", generation=found.pk, plan=Json({**found.plan, "choices": choices}))
        for generation in self.all(user_id):
            if generation.state == "building":
                if generation.fingerprint == recipe.fingerprint and generation.plan == recipe.plan:
                    return generation
                self._drop(user_id, generation)
        with self._core.database.write(user_id) as cursor:
            return make(cursor, recipe, "building")

    def to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Return the documents that are not complete in a generation yet."""
        with self._core.database.snapshot(user_id) as cursor:
            missing = cursor.all("documents_to_fill", generation=generation.pk)
            return documents.by_key(cursor, [row["pk"] for row in missing])

    def switch(self, user_id: str, to: Generation, *, keep: bool, choices: Choices) -> bool:
        """Publish a generation built with these choices. The previous one may be kept; others are dropped.

        Returns False and does nothing if it lacks documents added meanwhile. Its indexes are ready before any search
        sees it.
        """
        self._core.hold_generations(user_id)
        seq = self._core.prepare_legs(to)
        is_done, before = self._switch(user_id, to, seq, choices)
        if not is_done:
            return False
        if self._core.remote is not None:
            self._core.remote.promote_quietly(to)
        self._drop_kept(user_id, but=before if keep else None)
        return True

    @retrying
    def _switch(self, user_id: str, to: Generation, seq: int, choices: Choices) -> tuple[bool, Generation | None]:
        """Return whether the switch was made, and the previous generation."""
        with self._core.database.write(user_id) as cursor:
            cursor.run("own_tenant")  # other writers wait until this transaction ends
            before = serving(cursor)
            if cursor.all("documents_to_fill", generation=to.pk):
                return False, before
            switch(cursor, to, seq)
            choose(cursor, choices)
            return True, before

    def _drop_kept(self, user_id: str, *, but: Generation | None) -> None:
        """Drop the kept generations, except one at most."""
        for generation in self.all(user_id):
            if generation.state == "kept" and (but is None or generation.pk != but.pk):
                self._drop(user_id, generation)

    @retrying
    def _drop(self, user_id: str, generation: Generation) -> None:
        with self._core.database.write(user_id) as cursor:
            drop(cursor, generation)
        self._core.drop_legs(generation)

    def fill(
        self, user_id: str, generation: Generation, row: DocumentRow, drafts: Sequence[ChunkDraft], version: str
    ) -> None:
        """Write a document's chunks in a generation that does not serve yet, in one transaction."""
        self._core.fill_generation(user_id, generation, row, drafts, version)
