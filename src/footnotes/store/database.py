"""What a store asks of its database. Two dialects fulfil it, with SQL of their own under the same query names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from footnotes.types import Filter

Row: TypeAlias = Mapping[str, Any]
"""Values by the names of their columns."""


@dataclass(frozen=True, slots=True)
class Json:
    """A value that is kept as JSON. It is read back as text, so that both dialects give the same."""

    value: Any


class Cursor(Protocol):
    """Runs named queries for one tenant.

    Every query may use the value `user_id`, which is the tenant. Of the values given, a query takes those that its
    header names; the other dialect may need more of them. A list is one value: a set of keys, hashes or names.
    """

    user_id: str

    def all(self, query: str, where: Filter | None = None, /, **values: object) -> list[Row]:
        """All rows. The filter stands in the query's place `{where}`."""
        ...

    def one(self, query: str, **values: object) -> Row | None:
        """The first row, if there is any."""
        ...

    def value(self, query: str, **values: object) -> Any:
        """The only column of the first row; None without a row."""
        ...

    def run(self, query: str, **values: object) -> int:
        """Change rows, and return how many were changed."""
        ...

    def many(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Write many rows: some in each statement, or all in one over arrays, as the dialect's SQL says."""
        ...

    def insert(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """As `many`, of rows whose values stand in the order of the query's header, the tenant among them."""
        ...


class Database(Protocol):
    """Connections to the database of a store."""

    def read(self, user_id: str) -> AbstractContextManager[Cursor]:
        """Queries that each see what is committed when they begin."""
        ...

    def snapshot(self, user_id: str) -> AbstractContextManager[Cursor]:
        """Several queries that see one state."""
        ...

    def keep_state(self, user_id: str) -> AbstractContextManager[None]:
        """Let everything this thread reads see one state, where that costs nobody else anything."""
        ...

    def checkpoint(self) -> None:
        """Leave no copy of what was removed where only the database can reach it."""
        ...

    def write(self, user_id: str) -> AbstractContextManager[Cursor]:
        """One transaction: all of it or nothing."""
        ...
