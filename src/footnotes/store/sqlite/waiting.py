"""Documents whose text is served while their vectors are still to be made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, cast

import apsw

from footnotes.store.packing import unpack_headings
from footnotes.store.records import Generation, StoredInput
from footnotes.store.sqlite import documents
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import SpanReader
from footnotes.types import DocumentStatus, ErrorInfo


def listed(connection: apsw.Connection, user_id: str) -> list[int]:
    """The documents that wait, oldest first."""
    return [int(row[0]) for row in connection.execute(queries()["waiting_documents"], (user_id,))]


def chunk_count(connection: apsw.Connection, user_id: str) -> int:
    """How many chunks they have; some of them may have vectors already."""
    row = connection.execute(queries()["waiting_chunks"], (user_id,)).fetchone()
    assert row is not None
    return int(row[0])


def lacks_vectors(connection: apsw.Connection, generation: Generation, version: int) -> bool:
    bindings = (generation.pk, version, generation.model)
    return connection.execute(queries()["lacks_vectors"], bindings).fetchone() is not None


def inputs(
    connection: apsw.Connection, generation: Generation, pk: int, after: int, limit: int
) -> Iterator[StoredInput]:
    """What is still to be embedded of a document, in order, beginning after a chunk."""
    bindings = (generation.pk, generation.user_id, pk, after, generation.model, limit)
    reader: SpanReader | None = None
    for row in cast(list[Any], connection.execute(queries()["inputs_without_vector"], bindings).fetchall()):
        index, input_hash, version, start, end, tokens, prefix, headings, parts = row
        reader = reader or SpanReader(connection, version)
        yield StoredInput(
            index=index,
            input_hash=input_hash,
            start=start,
            tokens=tokens,
            prefix=prefix,
            headings=unpack_headings(headings),
            parts=tuple((first, last) for first, last in json.loads(parts)) if parts else (),
            text=reader.read(start, end),
        )


def set_all(connection: apsw.Connection, user_id: str, status: DocumentStatus, error: ErrorInfo | None) -> None:
    """Say of every document that waits whether somebody is at it, and if not, why."""
    packed = json.dumps(asdict(error), ensure_ascii=False) if error else None
    connection.execute(queries()["set_waiting"], (status, packed, user_id))


def finish(connection: apsw.Connection, generation: Generation, pks: Sequence[int]) -> None:
    """Their vectors are there: the dense index may take them in."""
    for pk in pks:
        connection.execute(queries()["set_embedded"], (generation.user_id, pk))
        documents.log_change(connection, generation.user_id, generation.pk, pk, [], leg="dense")
