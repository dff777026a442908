"""Generations: made beside the one that serves, switched in one transaction, dropped with all they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from footnotes.store.lexemes import made_by
from footnotes.store.postgres import statistics
from footnotes.store.postgres.clean import clean_json
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.rows import generation_row
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.view import Served
from footnotes.store.records import Generation


def served(connection: Connection, user_id: str) -> Served:
    """The generation searches use, the last change, and how many documents wait for vectors."""
    row = connection.row(queries()["serving"], user_id)
    return (
        Served(None)
        if row is None
        else Served(generation_row(row), row["changed"], row["waiting"], row["reached"] or 0)
    )


def serving(connection: Connection, user_id: str) -> Generation | None:
    return served(connection, user_id).generation


def find(connection: Connection, user_id: str, pk: int) -> Generation | None:
    row = connection.row(queries()["generation"], user_id, pk)
    return None if row is None else generation_row(row)


def listed(connection: Connection, user_id: str) -> list[Generation]:
    return [generation_row(row) for row in connection.fetch(queries()["generations"], user_id)]


def make(
    connection: Connection,
    user_id: str,
    *,
    embedder: str,
    fingerprint: str,
    dimensions: int,
    plan: dict[str, Any],
    state: str,
) -> Generation:
    """A new generation; the first of a tenant serves at once."""
    connection.execute(queries()["make_user"], user_id)
    connection.execute(queries()["put_model"], fingerprint, embedder, dimensions)
    model = connection.value(queries()["model"], fingerprint)
    made = connection.value(queries()["make_generation"], user_id, model, clean_json(plan), state, made_by())
    if state == "serving":
        connection.execute(queries()["set_serving"], user_id, made)
    found = find(connection, user_id, made)
    assert found is not None
    return found


def switch(connection: Connection, user_id: str, to: Generation) -> None:
    """Serve `to` from now on; the one that served is kept. Documents say what they are in it."""
    current = serving(connection, user_id)
    if current is not None and current.pk != to.pk:
        connection.execute(queries()["set_generation_state"], user_id, current.pk, "kept")
    connection.execute(queries()["set_generation_state"], user_id, to.pk, "serving")
    connection.execute(queries()["set_serving"], user_id, to.pk)
    connection.execute(queries()["apply_planned"], user_id, to.pk, to.embedder, to.dimensions)
    connection.execute(queries()["finish_all_waiting"], user_id, to.pk)


def choose(connection: Connection, user_id: str, choices: Mapping[str, Sequence[str | None]]) -> None:
    for name, (chunker, options) in choices.items():
        connection.execute(queries()["set_chunker"], user_id, name, chunker, options)


def drop(connection: Connection, user_id: str, generation: Generation) -> None:
    """Remove a generation that does not serve, with its chunks and vectors."""
    statistics.drop(connection, user_id, generation.pk)
    for name in ("drop_generation_chunks", "drop_generation"):
        connection.execute(queries()[name], user_id, generation.pk)
