"""Rows of PostgreSQL → the types of Footnotes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from footnotes.store import rows
from footnotes.store.records import DocumentRow, Generation
from footnotes.types import Chunk, Job

_CREATED, _UPDATED = 19, 20


def document_row(row: Any) -> DocumentRow:
    fields = list(row)
    fields[_CREATED], fields[_UPDATED] = as_time(fields[_CREATED]), as_time(fields[_UPDATED])
    return rows.document_row(fields)


def generation_row(row: Any) -> Generation:
    return rows.generation_row(tuple(row)[:8])


def chunk_from(row: Any) -> Chunk:
    *fields, content = row
    return rows.chunk_from(fields, content, tuple(fields[8]), fields[11])


def job_from(row: Any) -> Job:
    *fields, created, updated = row
    return rows.job_from([*fields, as_time(created), as_time(updated)])


def as_time(moment: datetime) -> str:
    """As every store writes it: ISO 8601 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
