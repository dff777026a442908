"""Rows of SQLite, whose JSON is text → the types of Footnotes."""

from __future__ import annotations

import json
from typing import Any

from footnotes.store import rows
from footnotes.store.packing import unpack_headings
from footnotes.store.records import DocumentRow, Generation
from footnotes.types import Chunk, Job

_METADATA, _WARNINGS, _ERROR = 13, 14, 21


def document_row(row: tuple[Any, ...]) -> DocumentRow:
    fields = list(row)
    for place in (_METADATA, _WARNINGS, _ERROR):
        fields[place] = _unpacked(fields[place])
    return rows.document_row(fields)


def generation_row(row: tuple[Any, ...]) -> Generation:
    pk, user_id, state, plan, *rest = row
    return rows.generation_row((pk, user_id, state, {} if plan == "{}" else json.loads(plan), *rest))


def chunk_from(row: tuple[Any, ...], text: str) -> Chunk:
    return rows.chunk_from(row, text, unpack_headings(row[8]), json.loads(row[11]))


def job_from(row: tuple[Any, ...]) -> Job:
    fields = list(row)
    for place in (4, 9):
        fields[place] = _unpacked(fields[place])
    return rows.job_from(fields)


def _unpacked(packed: str | None) -> Any:
    return json.loads(packed) if packed else None
