"""Runs the named queries of SQLite."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from footnotes.store.database import Json, Row
from footnotes.store.filters import FilterCompiler, check_size
from footnotes.store.statements import Query, load_queries
from footnotes.types import Filter

SQL = "footnotes.store.sql.sqlite"


_PLAIN = frozenset({str, int, float, bytes, bool, type(None)})
_ROWS_A_STATEMENT = (64, 8)
"""Rows per statement; the rest is written one by one, because the driver caches few statements."""
_VALUES = re.compile(r"(?s)(INSERT INTO .*?\bVALUES )(\(.*?\))(\s*(?:ON CONFLICT.*)?;)\Z")
_PARAMETER = re.compile(r"\?(\d+)")
Bindings = list[str | int | float | None]


class SqliteCursor:
    """Named queries on one connection."""

    __slots__ = ("_connection", "_queries", "user_id")

    def __init__(self, connection: apsw.Connection, user_id: str = "") -> None:
        self._connection = connection
        self._queries = load_queries(SQL)
        self.user_id = user_id

    def each(self, query: str, **values: object) -> Iterator[Row]:
        """Yield rows as they are read, for results larger than memory."""
        return self._rows(self._queries[query], None, values)

    def all(self, query: str, where: Filter | None = None, /, **values: object) -> list[Row]:
        sql, bindings = self._fill(self._queries[query], where, values)
        cursor = self._connection.execute(sql, bindings)
        try:
            names = _names(cursor)
        except apsw.ExecutionCompleteError:
            return []
        return [dict(zip(names, row, strict=False)) for row in cursor.fetchall()]

    def keys(self, query: str, where: Filter | None = None, /, **values: object) -> NDArray[np.int64]:
        """Return the only column of very many rows."""
        sql, bindings = self._fill(self._queries[query], where, values)
        rows: list[Any] = self._connection.execute(sql, bindings).fetchall()
        return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows))

    def one(self, query: str, **values: object) -> Row | None:
        return next(self._rows(self._queries[query], None, values), None)

    def value(self, query: str, **values: object) -> Any:
        found = self._queries[query]
        row = self._connection.execute(found.sql, self._bindings(found, values)).fetchone()
        return None if row is None else row[0]

    def run(self, query: str, **values: object) -> int:
        found = self._queries[query]
        self._connection.execute(found.sql, self._bindings(found, values)).fetchall()
        return self._connection.changes()

    def many(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        found = self._queries[query]
        if found.parameters[1:] == ("rows",):  # the statement takes all rows as one table
            self.run(query, rows=Json([{name: _unpack(value) for name, value in row.items()} for row in rows]))
            return
        self.insert(query, (self._bindings(found, row) for row in rows))

    def insert(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Write many rows in the order of the query's header, in as few statements as possible."""
        found, left = self._queries[query], iter(rows)
        for size in _ROWS_A_STATEMENT:
            several = _several(found.sql, len(found.parameters), size)
            if several is None:
                break
            while len(taken := list(islice(left, size))) == size:
                self._connection.execute(several, tuple(chain.from_iterable(taken)))
            left = iter(taken)
        self._connection.executemany(found.sql, left)

    def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """Return all rows without column names, which would take most of the time for many rows."""
        found = self._queries[query]
        rows: list[tuple[object, ...]] = self._connection.execute(found.sql, self._bindings(found, values)).fetchall()
        return rows

    def _rows(self, query: Query, where: Filter | None, values: Mapping[str, object]) -> Iterator[Row]:
        sql, bindings = self._fill(query, where, values)
        cursor = self._connection.execute(sql, bindings)
        names: list[str] = []
        for row in cursor:
            names = names or _names(cursor)
            yield dict(zip(names, row, strict=False))

    def _fill(self, query: Query, where: Filter | None, values: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
        """Return a query with its filter, and all bindings."""
        sql, bindings = query.sql, self._bindings(query, values)
        if "{where}" not in sql:
            return sql, bindings
        condition, bound = ("1", []) if where is None else compile_filter(where, self.user_id, len(bindings) + 1)
        return sql.replace("{where}", condition), (*bindings, *bound)

    def _bindings(self, query: Query, values: Mapping[str, object]) -> tuple[object, ...]:
        own = self.user_id
        found = [own if name == "user_id" else values[name] for name in query.parameters]
        return tuple([value if type(value) in _PLAIN else _bound(value) for value in found])


@cache
def _several(sql: str, parameters: int, rows: int) -> str | None:
    """Return the statement for several rows at once; None if it does not insert plain rows."""
    found = _VALUES.match(sql)
    if found is None:
        return None
    head, row, tail = found.groups()
    moved = (_shift_parameters(row, by) for by in range(0, rows * parameters, parameters))
    return f"{head}{', '.join(moved)}{tail}"


def _shift_parameters(row: str, by: int) -> str:
    """Return the values of a later row, with its parameters renumbered."""
    return _PARAMETER.sub(lambda parameter: f"?{int(parameter[1]) + by}", row)


def _names(cursor: apsw.Cursor) -> list[str]:
    """Return the names of a result's columns. Raises if it has no row."""
    return [column[0] for column in cursor.get_description()]


def _unpack(value: object) -> object:
    return value.value if isinstance(value, Json) else value


def _bound(value: object) -> object:
    if isinstance(value, Json):
        return None if value.value is None else json.dumps(value.value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return _table(value)
    return value


def _table(values: Sequence[object]) -> object:
    """Convert a list to a table: numbers and hashes for `carray`, texts for `json_each`."""
    if not values:
        return None
    if isinstance(values[0], str):
        return json.dumps(values)
    if isinstance(values[0], bytes):
        return apsw.carray(tuple(values), flags=apsw.SQLITE_CARRAY_BLOB)
    return apsw.carray(array("q", values), flags=apsw.SQLITE_CARRAY_INT64)


# ── compiles filters to SQLite with bound values ──────────────────────────────────────────────────────────────


def compile_filter(where: Filter, user_id: str, first_binding: int) -> tuple[str, Bindings]:
    """Return a boolean expression over `c` (chunks) and `d` (documents), and its bindings from ?first_binding on."""
    check_size(where)
    compiler = _SqliteFilters(user_id, first_binding)
    return compiler.compiled(where), compiler.bindings


class _SqliteFilters(FilterCompiler):
    true, false = "1", "0"

    def __init__(self, user_id: str, first_binding: int) -> None:
        super().__init__(user_id)
        self.bindings: Bindings = []
        self._next = first_binding

    def _bound(self, value: str | float) -> str:
        self.bindings.append(value)
        self._next += 1
        return f"?{self._next - 1}"

    def text(self, value: str) -> str:
        return self._bound(value)

    def number(self, value: float) -> str:
        return self._bound(value)

    def among(self, column: str, values: Sequence[str]) -> str:
        return f"{column} IN ({', '.join(self.text(value) for value in values)})"

    def matches(self, column: str, pattern: str) -> str:
        return f"{column} GLOB {self.text(pattern)}"

    def facets(self, user: str, key: str) -> str:
        # `IN (SELECT …)` lets SQLite start from the facets, not from all documents.
        return f"d.pk IN (SELECT document FROM facets WHERE user_id = {user} AND key = {key}"  # noqa: S608

    def headings(self) -> str:
        return "EXISTS (SELECT 1 FROM json_each(c.headings) h WHERE"

    def listed(self, name: str) -> str:
        # Most chunks have no lists, and searching for the name is faster than reading JSON. An object is no list.
        return (
            f"instr(c.metadata, '\"{name}\"') AND json_type(c.metadata, '$.{name}') IN ('array', 'text') AND "  # noqa: S608
            f"EXISTS (SELECT 1 FROM json_each(c.metadata, '$.{name}') h WHERE h.type = 'text' AND"
        )
