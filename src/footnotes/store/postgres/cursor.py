"""Runs the named queries of PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from footnotes.store.database import Json, Row
from footnotes.store.filters import FilterCompiler, check_size
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.statements import Query, load_queries
from footnotes.types import Filter

SQL = "footnotes.store.sql.postgres"


class Statements(Protocol):
    """Runs statements with bound values: a connection, or a pool that takes one for each statement."""

    def fetch(self, statement: str, *bindings: object) -> list[Any]: ...

    def execute(self, statement: str, *bindings: object) -> int: ...

    def send(self, statement: str, *bindings: object) -> Callable[[], object]: ...


class PostgresCursor:
    """Named queries on one connection, or each query on any connection."""

    __slots__ = ("_queries", "_statements", "user_id")

    def __init__(self, statements: Statements, user_id: str, queries: Mapping[str, Query] | None = None) -> None:
        self._statements = statements
        self._queries = load_queries(SQL) if queries is None else queries
        self.user_id = user_id

    def all(self, query: str, where: Filter | None = None, /, **values: object) -> list[Row]:
        found = self._queries[query]
        sql, bindings = found.sql, self._bindings(found, values)
        if "{where}" in sql:
            condition, bound = ("true", []) if where is None else compile_filter(where, self.user_id, len(bindings) + 1)
            sql, bindings = sql.replace("{where}", condition), [*bindings, *bound]
        return self._statements.fetch(sql, *bindings)

    def one(self, query: str, **values: object) -> Row | None:
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def value(self, query: str, **values: object) -> Any:
        rows: list[Any] = self.all(query, **values)
        return rows[0][0] if rows else None

    def run(self, query: str, **values: object) -> int:
        found = self._queries[query]
        return self._statements.execute(found.sql, *self._bindings(found, values))

    def many(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Run one statement whose parameters are arrays, one for each column of the rows."""
        found = self._queries[query]
        self._insert(found, [self._bindings(found, row) for row in rows])

    def insert(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        self._insert(self._queries[query], [[_bound(value) for value in row] for row in rows])

    def insert_columns(self, query: str, columns: Sequence[Sequence[object]], **values: object) -> int:
        """One statement with whole columns, sent as they are. The values come first in the query's header."""
        found = self._queries[query]
        return self._statements.execute(found.sql, *self._common(found, values), *columns)

    @contextmanager
    def sending(self, query: str, **values: object) -> Iterator[Callable[[Sequence[Sequence[object]]], None]]:
        """Return a function that sends rows while the next ones are prepared; each call waits for the previous one.

        The values come first in the query's header; the columns of the rows follow and are sent as arrays.
        """
        found = self._queries[query]
        common = self._common(found, values)
        on_its_way: list[Callable[[], object]] = []

        def send(rows: Sequence[Sequence[object]]) -> None:
            columns = [list(column) for column in zip(*rows, strict=True)]
            while on_its_way:
                on_its_way.pop()()
            on_its_way.append(self._statements.send(found.sql, *common, *columns))

        try:
            yield send
        finally:
            while on_its_way:
                on_its_way.pop()()

    def _common(self, query: Query, values: Mapping[str, object]) -> list[object]:
        return [self.user_id if name == "user_id" else values[name] for name in query.parameters[: len(values) + 1]]

    def _insert(self, query: Query, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            self._statements.execute(query.sql, *(list(column) for column in zip(*rows, strict=True)))

    def _bindings(self, query: Query, values: Mapping[str, object]) -> list[object]:
        own = self.user_id
        return [own if name == "user_id" else _bound(values[name]) for name in query.parameters]


def _bound(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Json):
        return None if value.value is None else pack_json(value.value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [clean(item) if isinstance(item, str) else item for item in value]
    return value


def pack_json(value: object) -> str:
    return json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False)


# ── compiles filters to PostgreSQL with bound values. Results equal SQLite's, to the character ────────────────


def compile_filter(where: Filter, user_id: str, first_binding: int = 1) -> tuple[str, list[object]]:
    """Return a boolean expression over `c` (chunks) and `d` (documents), and its bindings from $first_binding on."""
    check_size(where)
    compiler = _PostgresFilters(user_id, first_binding)
    return compiler.compiled(where), compiler.bindings


class _PostgresFilters(FilterCompiler):
    def __init__(self, user_id: str, first_binding: int) -> None:
        super().__init__(user_id)
        self.bindings: list[object] = []
        self._next = first_binding

    def _bound(self, value: object, kind: str) -> str:
        self.bindings.append(value)
        self._next += 1
        return f"${self._next - 1}::{kind}"

    def text(self, value: str) -> str:
        return self._bound(clean(value), "text")

    def number(self, value: float) -> str:
        return self._bound(value, "double precision")

    def among(self, column: str, values: Sequence[str]) -> str:
        return f"{column} = ANY ({self._bound([clean(value) for value in values], 'text[]')})"

    def matches(self, column: str, pattern: str) -> str:
        expression = glob_expression(clean(pattern))
        return self.false if expression is None else f"{column} ~ {self.text(expression)}"

    def facets(self, user: str, key: str) -> str:
        return f"EXISTS (SELECT 1 FROM facets f WHERE f.document = d.pk AND f.user_id = {user} AND f.key = {key}"  # noqa: S608

    def headings(self) -> str:
        return "EXISTS (SELECT 1 FROM jsonb_array_elements_text(c.headings) h(value) WHERE"

    def listed(self, name: str) -> str:
        values = (
            f"CASE jsonb_typeof(c.metadata -> '{name}') WHEN 'array' THEN c.metadata -> '{name}' "
            f"WHEN 'string' THEN jsonb_build_array(c.metadata -> '{name}') ELSE '[]' END"
        )
        return (
            f"EXISTS (SELECT 1 FROM jsonb_array_elements({values}) e(item), "  # noqa: S608
            "LATERAL (SELECT e.item #>> '{}') h(value) WHERE jsonb_typeof(e.item) = 'string' AND"
        )


def glob_expression(pattern: str) -> str | None:
    """Return a regular expression for a pattern of SQLite's GLOB; None if nothing can match.

    `*` is any run of characters, `?` any character, `[a-z]` one in a set, `[^a-z]` one outside it. A `]` at the
    beginning is in the set, and an unclosed set matches nothing. There is no escaping.
    """
    parts, at = ["^"], 0
    while at < len(pattern):
        character = pattern[at]
        if character == "[":
            found = _set(pattern, at + 1)
            if found is None:
                return None
            part, at = found
            parts.append(part)
            continue
        parts.append({"*": ".*", "?": "."}.get(character) or _literal(character))
        at += 1
    return "".join(parts) + "$"


def _set(pattern: str, at: int) -> tuple[str, int] | None:
    """Return the bracket expression that begins at `at`, and its end; None if nothing can match it."""
    inverted = pattern[at : at + 1] == "^"
    start = at = at + inverted
    ranges: list[tuple[str, str]] = []
    before = ""
    while at < len(pattern):
        character = pattern[at]
        if character == "]" and at > start:
            break
        follows = pattern[at + 1 : at + 2]
        if character == "-" and before and follows not in ("", "]"):
            ranges.append((before, follows))
            before, at = "", at + 2
            continue
        ranges.append((character, character))
        # A `]` at the beginning does not start a range.
        before, at = "" if character == "]" else character, at + 1
    else:
        return None
    inside = "".join(f"{_code(first)}-{_code(last)}" for first, last in ranges if first <= last)
    if not inside:
        return (".", at + 1) if inverted else None
    return f"[{'^' if inverted else ''}{inside}]", at + 1


def _literal(character: str) -> str:
    return character if character.isalnum() and character.isascii() else _code(character)


def _code(character: str) -> str:
    return f"\\U{ord(character):08x}"
