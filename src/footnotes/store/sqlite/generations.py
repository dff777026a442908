"""Generations: made beside the one that serves, switched in one transaction, dropped with all they have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import apsw

from footnotes.store.records import Generation
from footnotes.store.sqlite.documents import now
from footnotes.store.sqlite.rows import generation_row
from footnotes.store.sqlite.sql import queries


@dataclass(frozen=True, slots=True)
class Served:
    """What searches of a tenant see: `visible` is the change they expect, `required` the one they cannot do without.

    `last` is the last change there is, and `staged` says whether a version waits to be shown: where indexes have seen
    another change, or one waits, they hold chunks that are not served.
    """

    generation: Generation | None = None
    visible: int = 0
    waiting: int = 0
    required: int = 0
    epoch: int = 0
    last: int = 0
    staged: bool = False


def served(connection: apsw.Connection, user_id: str) -> Served:
    """What searches see now."""
    row: Any = connection.execute(queries()["served"], (user_id,)).fetchone()
    if row is None:
        return Served()
    visible, waiting, required, epoch, last, staged = row[8:]
    return Served(generation_row(row[:8]), visible, waiting, required, epoch, last, bool(staged))


def serving(connection: apsw.Connection, user_id: str) -> tuple[Generation | None, int]:
    """The generation searches use, and the last change they must have seen."""
    row: Any = connection.execute(queries()["serving"], (user_id,)).fetchone()
    return (None, 0) if row is None else (generation_row(row[:-1]), int(row[-1]))


def find(connection: apsw.Connection, user_id: str, pk: int) -> Generation | None:
    row = connection.execute(queries()["generation"], (user_id, pk)).fetchone()
    return None if row is None else generation_row(row)


def listed(connection: apsw.Connection, user_id: str) -> list[Generation]:
    return [generation_row(row) for row in connection.execute(queries()["generations"], (user_id,))]


def make(
    connection: apsw.Connection,
    user_id: str,
    *,
    embedder: str,
    fingerprint: str,
    dimensions: int,
    plan: dict[str, Any],
    state: str,
) -> Generation:
    """A new generation; the first of a tenant serves at once."""
    connection.execute(queries()["make_user"], (user_id,))
    connection.execute(queries()["put_model"], (fingerprint, embedder, dimensions))
    model = connection.execute(queries()["model"], (fingerprint,)).fetchone()
    assert model is not None
    row = (user_id, model[0], json.dumps(plan, sort_keys=True), state, now())
    made = connection.execute(queries()["make_generation"], row).fetchone()
    assert made is not None
    if state == "serving":
        connection.execute(queries()["set_serving"], (made[0], 0, user_id))
    found = find(connection, user_id, made[0])
    assert found is not None
    return found


def switch(connection: apsw.Connection, user_id: str, to: Generation, seq: int) -> None:
    """Serve `to` from now on; the one that served is kept."""
    current, _ = serving(connection, user_id)
    if current is not None and current.pk != to.pk:
        connection.execute(queries()["set_generation_state"], ("kept", user_id, current.pk))
    connection.execute(queries()["set_generation_state"], ("serving", user_id, to.pk))
    connection.execute(queries()["set_serving"], (to.pk, seq, user_id))


def apply_planned(connection: apsw.Connection, user_id: str, to: Generation) -> None:
    """Let the documents say what they are in the generation that serves now."""
    connection.execute(queries()["apply_planned"], (to.pk, to.embedder, to.dimensions, user_id))
    connection.execute(queries()["finish_waiting"], (user_id, to.pk))


def drop(connection: apsw.Connection, user_id: str, generation: Generation) -> None:
    """Remove a generation that does not serve, with its chunks and the vectors nothing else uses."""
    for name in ("drop_generation_chunks", "drop_generation_changes", "drop_generation"):
        connection.execute(queries()[name], (user_id, generation.pk))
    connection.execute(queries()["drop_orphan_embeddings"], (user_id,))
