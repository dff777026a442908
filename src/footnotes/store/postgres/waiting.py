"""Documents whose text is served while their vectors are still to be made."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.postgres.clean import clean_json
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.sql import queries
from footnotes.store.records import Generation, StoredInput
from footnotes.store.rows import packed_error
from footnotes.types import DocumentStatus, ErrorInfo

CLAIMED_AT_ONCE = 256
"""Documents a writer takes at a time: the rest is for others meanwhile."""


def listed(connection: Connection, user_id: str) -> list[int]:
    """The documents that wait, oldest first."""
    return [row[0] for row in connection.fetch(queries()["waiting_documents"], user_id)]


def claimed(connection: Connection, user_id: str, holder: int) -> list[int]:
    """Some that wait and that nobody living is at: they are the writer's now."""
    rows = connection.fetch(queries()["claim_waiting"], user_id, holder, CLAIMED_AT_ONCE)
    return sorted(row[0] for row in rows)


def chunk_count(connection: Connection, user_id: str) -> int:
    """How many chunks they have; some of them may have vectors already."""
    return int(connection.value(queries()["waiting_chunks"], user_id))


def inputs(
    connection: Connection, user_id: str, generation: Generation, pk: int, after: int, limit: int
) -> list[StoredInput]:
    """What is still to be embedded of a document, in order, beginning after a chunk."""
    rows = connection.fetch(queries()["inputs_without_vector"], user_id, generation.pk, pk, after, limit)
    return [
        StoredInput(
            index=row["chunk_index"],
            input_hash=row["input_hash"],
            start=row["start_offset"],
            tokens=row["tokens"],
            prefix=row["prefix"],
            headings=tuple(row["headings"]),
            parts=tuple((first, last) for first, last in row["parts"] or ()),
            text=row["content"],
        )
        for row in rows
    ]


def set_all(connection: Connection, user_id: str, holder: int, status: DocumentStatus, error: ErrorInfo | None) -> None:
    """Say of the documents a writer is at, or nobody, whether somebody is, and if not, why."""
    connection.execute(queries()["set_waiting"], user_id, holder, status, clean_json(packed_error(error)))


def finish(connection: Connection, user_id: str, holder: int, generation: Generation, pks: Sequence[int]) -> None:
    """Their vectors are there: those that have all of them are ready."""
    if connection.execute(queries()["finish_waiting"], user_id, holder, generation.pk, list(pks)):
        connection.execute(queries()["bump"], user_id)
