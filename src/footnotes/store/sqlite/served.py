"""The state of a folder that a tenant's searches see."""

from __future__ import annotations

from dataclasses import dataclass

from footnotes.store.database import Cursor
from footnotes.store.records import Generation
from footnotes.store.rows import generation_row


@dataclass(frozen=True, slots=True)
class Served:
    """The state for searches: `visible` is the change they expect, `required` the one they need at least.

    `last` is the last change, and `staged` means that a version waits to be shown. If an index has another position
    than `last`, or a version waits, it contains unpublished chunks.
    """

    generation: Generation | None = None
    visible: int = 0
    waiting: int = 0
    required: int = 0
    epoch: int = 0
    last: int = 0
    staged: bool = False


def served(cursor: Cursor) -> Served:
    """Return the current state for searches."""
    row = cursor.one("served")
    if row is None:
        return Served()
    names = ("visible", "waiting", "required", "epoch", "last")
    return Served(generation_row(row), **{name: row[name] for name in names}, staged=bool(row["staged"]))
