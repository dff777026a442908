"""Checks stored data: texts against chunks, chunks against their input hashes and vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from footnotes.errors import FootnotesError
from footnotes.store.database import Cursor, Database, Row
from footnotes.store.packing import HALF_BYTES
from footnotes.store.records import Generation, Problem
from footnotes.store.texts import read_span

_AT_ONCE = 1_000
HashOf = Callable[[str, str], bytes]


def check_text(database: Database, generation: Generation, hash_of: HashOf) -> Iterator[Problem | int]:
    """Check every chunk's text against its document and its hash; yields 1 for each valid one."""
    after = 0
    while True:
        with database.snapshot(generation.user_id) as cursor:
            rows = cursor.all("chunk_inputs", generation=generation.pk, after=after, limit=_AT_ONCE)
            found = [_check(cursor, row, hash_of) for row in rows]
        if not rows:
            return
        yield from found
        after = rows[-1]["key"]


def _check(cursor: Cursor, row: Row, hash_of: HashOf) -> Problem | int:
    name = f"document {row['document_id']}: chunk {row['key']}"
    try:
        text = row["span"]
        if text is None:
            text = read_span(cursor, row["version"], row["start_offset"], row["end_offset"])
    except FootnotesError as error:
        return Problem(f"document {row['document_id']}: {error.message}", mendable=False)
    if row["content"] is not None and text != row["content"]:
        return Problem(f"{name} does not match the text of the document", mendable=False)
    holds = hash_of(row["prefix"], text) == row["input_hash"]
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
