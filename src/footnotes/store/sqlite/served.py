"""What searches of a tenant see of a folder."""

from __future__ import annotations

from dataclasses import dataclass

from footnotes.store.database import Cursor
from footnotes.store.records import Generation
from footnotes.store.rows import generation_row


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


def served(cursor: Cursor) -> Served:
    """What searches see now."""
    row = cursor.one("served")
    if row is None:
        return Served()
    names = ("visible", "waiting", "required", "epoch", "last")
    return Served(generation_row(row), **{name: row[name] for name in names}, staged=bool(row["staged"]))
