"""Compares everything with everything: texts with chunks, chunks with vectors and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from footnotes.errors import FootnotesError
from footnotes.store.postgres import statistics, texts
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.sql import queries
from footnotes.store.records import Generation, Problem, Verification

_AT_ONCE = 1_000


def verified(database: Database, generation: Generation, hash_of: Callable[[str, str], bytes]) -> Verification:
    """What was checked and what did not hold."""
    found, intact = Verification(), 0
    for item in check_text(database, generation, hash_of):
        if isinstance(item, Problem):
            found.problems.append(item)
        else:
            intact += item
    with database.raw_snapshot(generation.user_id) as connection:
        found.problems.extend(check_vectors(connection, generation))
        found.problems.extend(check_statistics(connection, generation))
    found.checked["chunks"] = intact
    return found


def check_text(
    database: Database, generation: Generation, hash_of: Callable[[str, str], bytes]
) -> Iterator[Problem | int]:
    """Every chunk's text against the span it is said to be, and against the hash of what was embedded for it."""
    after = 0
    user_id = generation.user_id
    while True:
        with database.raw_snapshot(user_id) as connection:
            rows = connection.fetch(queries()["chunk_inputs"], user_id, generation.pk, after, _AT_ONCE)
            yield from [_checked(connection, user_id, row, hash_of) for row in rows]
        if not rows:
            return
        after = rows[-1]["key"]


def _checked(connection: Connection, user_id: str, row: Any, hash_of: Callable[[str, str], bytes]) -> Problem | int:
    name = f"document {row['document_id']}: chunk {row['key']}"
    try:
        text = row["span"]
        if text is None:
            text = texts.read_span(connection, user_id, row["version"], row["start_offset"], row["end_offset"])
    except FootnotesError as error:
        return Problem(f"document {row['document_id']}: {error.message}", mendable=False)
    if text != row["content"]:
        return Problem(f"{name} does not match the text of the document", mendable=False)
    holds = hash_of(row["prefix"], text) == row["input_hash"]
    return 1 if holds else Problem(f"{name} does not match its hash", mendable=False)


def check_vectors(connection: Connection, generation: Generation) -> Iterator[Problem]:
    """`ready` means that every chunk has a vector of the generation's dimensions."""
    without, wrong = connection.row(
        queries()["wrong_vectors"], generation.user_id, generation.pk, generation.dimensions
    )
    if without:
        yield Problem(f"{without} chunks have no vector", mendable=False)
    if wrong:
        yield Problem(f"{wrong} chunks have a vector of other dimensions", mendable=False)


def check_statistics(connection: Connection, generation: Generation) -> Iterator[Problem]:
    """What is known of terms is what the chunks that are served say."""
    wrong = connection.value(queries()["wrong_statistics"], generation.user_id, generation.pk)
    if wrong:
        yield Problem(f"the statistics of {wrong} terms do not match the chunks", mendable=True)


def recount(connection: Connection, generation: Generation) -> None:
    """Count the statistics of a generation anew."""
    statistics.recount(connection, generation.user_id, generation.pk)
