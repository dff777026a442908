"""Compares everything with everything: pages, rows, spans, vectors, both indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from footnotes.errors import FootnotesError, StoreCorrupt
from footnotes.store.packing import HALF_BYTES
from footnotes.store.records import Generation, Problem
from footnotes.store.sqlite import generations
from footnotes.store.sqlite.connection import Database, translated
from footnotes.store.sqlite.indexes import Indexes, loss_message
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import read_span


def check_pages(database: Database) -> Iterator[Problem]:
    """Every page against its checksum, every row against the schema."""
    with translated():
        for (message,) in database.reader.execute("PRAGMA integrity_check(20)"):
            if message != "ok":
                yield Problem(f"database: {message}", mendable=False)
        for row in database.reader.execute("PRAGMA foreign_key_check"):
            yield Problem(f"database: a row of {row[0]} refers to nothing", mendable=False)


def check_losses(database: Database, user_id: str) -> Iterator[Problem]:
    """What indexes had seen, and the database does not have."""
    with database.raw_snapshot() as connection:
        for leg, seen, had in cast(Any, connection.execute(queries()["losses"], (user_id,)).fetchall()):
            yield Problem(loss_message(leg, seen, had), mendable=True)


def check_text(
    database: Database, generation: Generation, hash_of: Callable[[str, str], bytes]
) -> Iterator[Problem | int]:
    """Every chunk's span against the hash of what was embedded for it; yields 1 for each that holds."""
    with database.raw_snapshot() as connection:
        for row in connection.execute(queries()["chunk_inputs"], (generation.user_id, generation.pk)).fetchall():
            key, version, start, end, prefix, digest, document_id = cast(tuple[Any, ...], row)
            try:
                holds = hash_of(prefix, read_span(connection, version, start, end)) == digest
            except FootnotesError as error:
                yield Problem(f"document {document_id}: {error.message}", mendable=False)
                continue
            yield 1 if holds else Problem(f"document {document_id}: chunk {key} does not match its hash", False)


def check_vectors(database: Database, generation: Generation) -> Iterator[Problem]:
    """`ready` means that every chunk has a vector."""
    with database.raw_snapshot() as connection:
        bindings = (generation.user_id, generation.pk, generation.model)
        row = connection.execute(queries()["chunks_without_vector"], bindings).fetchone()
        if row and row[0]:
            yield Problem(f"{row[0]} chunks have no vector", mendable=False)
        misfit = connection.execute(queries()["misfit_vectors"], _misfit(generation)).fetchone()
        if misfit and misfit[0]:
            yield Problem(f"{misfit[0]} vectors do not have {generation.dimensions} dimensions", mendable=True)


def drop_misfit_vectors(database: Database, generation: Generation) -> list[str]:
    """Remove vectors of another length than their model's, and let their documents wait for new ones."""
    with database.transaction() as connection:
        connection.execute(queries()["drop_misfit_vectors"], _misfit(generation))
        if not (dropped := connection.changes()):
            return []
        connection.execute(queries()["requeue_without_vectors"], (generation.user_id, generation.pk, generation.model))
    return [f"{dropped} vectors of a wrong length removed: run `footnotes resume` to make them again"]


def _misfit(generation: Generation) -> tuple[str, int, int]:
    return generation.user_id, generation.model, generation.dimensions * HALF_BYTES


def check_indexes(database: Database, indexes: Indexes, generation: Generation) -> Iterator[Problem]:
    """The lexical index holds exactly the keys the database serves, the dense one those that have their vectors."""
    with database.raw_snapshot() as connection:
        _, seq = generations.serving(connection, generation.user_id)
        rows = connection.execute(queries()["live_keys"], (generation.user_id, generation.pk)).fetchall()
    served = np.array([row[0] for row in rows], dtype=np.int64)
    embedded = np.array([row[0] for row in rows if not row[1]], dtype=np.int64)
    try:
        yield from indexes.check(generation, seq, served, embedded)
    except StoreCorrupt as error:
        yield Problem(error.message, mendable=True)
