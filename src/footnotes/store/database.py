"""The database protocol. Two dialects implement it, each with its own SQL under the same query names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from footnotes.types import Filter

Row: TypeAlias = Mapping[str, Any]
"""Values by column name."""


@dataclass(frozen=True, slots=True)
class Json:
    """A value stored as JSON. It is read back as text, so that both dialects return the same."""

    value: Any


class Cursor(Protocol):
    """Runs named queries for one tenant.

    Every query may use the value `user_id`, which is the tenant. A query takes the values that its header names; the
    other dialect may need more of them. A list is one value: a set of keys, hashes or names.
    """

    user_id: str

    def all(self, query: str, where: Filter | None = None, /, **values: object) -> list[Row]:
        """Return all rows. The filter replaces `{where}` in the query."""
        ...

    def one(self, query: str, **values: object) -> Row | None:
        """Return the first row, if any."""
        ...

    def value(self, query: str, **values: object) -> Any:
        """Return the only column of the first row; None without a row."""
        ...

    def run(self, query: str, **values: object) -> int:
        """Change rows, and return how many were changed."""
        ...

    def many(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Write many rows, in several statements or in one over arrays, depending on the dialect's SQL."""
        ...

    def insert(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Write many rows given in the order of the query's header, including the tenant."""
        ...


class Database(Protocol):
    """Connections to the database of a store."""

    def read(self, user_id: str) -> AbstractContextManager[Cursor]:
        """Open a cursor whose queries each see what is committed when they begin."""
        ...

    def snapshot(self, user_id: str) -> AbstractContextManager[Cursor]:
        """Open a cursor whose queries all see one state."""
        ...

    def keep_state(self, user_id: str) -> AbstractContextManager[None]:
        """Let all reads of this thread see one state, if the database can do so without blocking others."""
        ...

    def checkpoint(self) -> None:
        """Purge removed data from the database's own files."""
        ...

    def write(self, user_id: str) -> AbstractContextManager[Cursor]:
        """Open a transaction: all or nothing."""
        ...
