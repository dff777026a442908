"""Generations: made beside the one that serves, switched in one transaction, dropped with all they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footnotes.store.database import Cursor, Json
from footnotes.store.lexemes import made_by
from footnotes.store.naming import without_collection
from footnotes.store.records import Generation
from footnotes.store.rows import generation_row

Choices = Mapping[str, Sequence[str | None]]
"""The chunker and its options of every collection."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a generation is made with."""

    embedder: str
    fingerprint: str
    dimensions: int
    plan: dict[str, Any]


def serving(cursor: Cursor) -> Generation | None:
    """The generation searches use."""
    row = cursor.one("serving")
    return None if row is None else generation_row(row)


def find(cursor: Cursor, pk: int) -> Generation | None:
    row = cursor.one("generation", generation=pk)
    return None if row is None else generation_row(row)


def listed(cursor: Cursor) -> list[Generation]:
    return [generation_row(row) for row in cursor.all("generations")]


def make(cursor: Cursor, recipe: Recipe, state: str) -> Generation:
    """A new generation; the first of a tenant serves at once."""
    model = {"fingerprint": recipe.fingerprint, "embedder": recipe.embedder, "dimensions": recipe.dimensions}
    cursor.run("make_user")
    cursor.run("put_model", **model)
    plan = Json(recipe.plan)
    pk = cursor.value("make_generation", **model, plan=plan, state=state, lexemes=made_by())
    if state == "serving":
        cursor.run("set_serving", generation=pk, seq=0)
    found = find(cursor, pk)
    assert found is not None
    return found


def switch(cursor: Cursor, to: Generation, seq: int) -> None:
    """Serve `to` from now on, whose indexes have seen a change; the one that served is kept."""
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
    """What a generation knows of a document: taken over into the document when the generation begins to serve."""
    row = {"generation": generation, "document": document, "ingestion_version": ingestion_version, "chunks": chunks}
    cursor.many("put_planned", [row])


def drop_collection(cursor: Cursor, name: str) -> None:
    """Forget a collection that has no documents, in the plans of generations too."""
    for query in ("drop_collection", "drop_collection_origins", "drop_collection_jobs"):
        cursor.run(query, name=name)
    for generation in listed(cursor):
        plan = without_collection(generation.plan, name)
        if plan != generation.plan:
            cursor.run("set_plan", generation=generation.pk, plan=Json(plan))


def drop(cursor: Cursor, generation: Generation) -> None:
    """Remove a generation that does not serve, with its chunks and the vectors nothing else uses."""
    for query in ("drop_generation_chunks", "drop_generation_log", "drop_generation"):
        cursor.run(query, generation=generation.pk)
    cursor.run("drop_unused_vectors")
