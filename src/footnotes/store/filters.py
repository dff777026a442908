"""Compiles filters to SQL and, if possible, to facet terms.

This module defines what a filter means; each dialect adds its SQL syntax.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from footnotes.errors import FilterError
from footnotes.store.facets import CHUNK_FIELDS, COLUMNS, DATES, LISTED, MAX_TEXT, as_number, facet_term, facet_text
from footnotes.types import AllOf, AnyOf, Condition, Filter, JsonValue, Not

MAX_CONDITIONS = 200
MAX_DEPTH = 20

_COMPARISON = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class FilterCompiler(ABC):
    """Builds a boolean expression over `c` (chunks) and `d` (documents). The tenant is never part of a filter.

    Values are always bound, in their order in the expression.
    """

    true, false = "TRUE", "FALSE"

    def __init__(self, user_id: str) -> None:
        self._user_id = user_id

    @abstractmethod
    def text(self, value: str) -> str:
        """Bind a text and return its placeholder."""

    @abstractmethod
    def number(self, value: float) -> str:
        """Bind a number and return its placeholder."""

    @abstractmethod
    def among(self, column: str, values: Sequence[str]) -> str:
        """Return a test that a column equals one of some texts."""

    @abstractmethod
    def matches(self, column: str, pattern: str) -> str:
        """Return a test that a column matches a pattern of `*`, `?` and `[…]`."""

    @abstractmethod
    def facets(self, user: str, key: str) -> str:
        """Return the beginning of a test of a document's facets, before conditions on `text` and `number` and a `)`."""

    @abstractmethod
    def headings(self) -> str:
        """Return the beginning of a test of a chunk's headings, before conditions on `h.value` and a `)`."""

    @abstractmethod
    def listed(self, name: str) -> str:
        """Return the beginning of a test of the text or texts under a name in a chunk's metadata, like `headings`."""

    def compiled(self, where: Filter) -> str:
        match where:
            case Condition():
                if where.key in ("page", "line"):
                    return self._within(where.key, where)
                if where.key in LISTED:
                    return self._list_values(where)
                if where.key in COLUMNS:
                    return self._column(where)
                return self._heading(where) if where.key == "heading" else self._facet(where)
            case AllOf():
                return self._join(where.filters, " AND ", self.true)
            case AnyOf():
                return self._join(where.filters, " OR ", self.false)
            case Not():
                return f"NOT ({self.compiled(where.filter)})"
            case _:
                assert_never(where)

    def _join(self, filters: tuple[Filter, ...], operator: str, empty: str) -> str:
        return "(" + operator.join([self.compiled(one) for one in filters]) + ")" if filters else empty

    def _facet(self, condition: Condition) -> str:
        """Test whether the document has a matching facet."""
        start = self.facets(self.text(self._user_id), self.text(condition.key))
        value = condition.value
        match condition.operator:
            case "exists":
                return f"{start})"
            case "eq":
                return f"{start} AND text = {self.text(facet_text(value))})"
            case "ne":
                return f"NOT {start} AND text = {self.text(facet_text(value))})"
            case "in":
                return f"{start} AND {self.among('text', _texts(condition))})"
            case "glob":
                return f"{start} AND {self.matches('text', facet_text(value))})"
            case "gt" | "gte" | "lt" | "lte":
                return f"{start} AND {self._compare(condition)})"
            case _:
                raise FilterError(f"there is no operator {condition.operator!r}")

    def _column(self, condition: Condition) -> str:
        """Compare a column of the document as text."""
        column, value = COLUMNS[condition.key], condition.value
        match condition.operator:
            case "exists":
                return f"{column} IS NOT NULL"
            case "eq":
                return f"{column} = {self.text(facet_text(value))}"
            case "ne":
                return f"{column} <> {self.text(facet_text(value))}"
            case "in":
                return self.among(column, _texts(condition))
            case "glob":
                return self.matches(column, facet_text(value))
            case _:
                raise FilterError(f"a {condition.key} cannot be tested with {condition.operator!r}")

    def _compare(self, condition: Condition) -> str:
        """Compare numbers as numbers, and everything else, including dates, as text."""
        operator, number = _COMPARISON[condition.operator], as_number(condition.value)
        if condition.key in DATES or number is None:
            return f"text {operator} {self.text(facet_text(condition.value))}"
        return f"number {operator} {self.number(number)}"

    def _within(self, what: str, condition: Condition) -> str:
        """Test the pages or lines of a chunk."""
        first, last = f"c.{what}_first", f"c.{what}_last"
        if condition.operator == "exists":
            return f"{first} IS NOT NULL"
        if condition.operator == "in":
            tests = [self._within(what, Condition(what, "eq", item)) for item in listed(condition)]
            return "(" + " OR ".join(tests) + ")" if tests else self.false
        number = as_number(condition.value)
        if number is None:
            raise FilterError(f"a {what} is a number, not {condition.value!r}")
        match condition.operator:
            case "eq":
                return f"COALESCE({self.number(number)} BETWEEN {first} AND {last}, {self.false})"
            case "ne":
                return f"NOT COALESCE({self.number(number)} BETWEEN {first} AND {last}, {self.false})"
            case "gt" | "gte":
                return f"COALESCE({last} {_COMPARISON[condition.operator]} {self.number(number)}, {self.false})"
            case "lt" | "lte":
                return f"COALESCE({first} {_COMPARISON[condition.operator]} {self.number(number)}, {self.false})"
            case _:
                raise FilterError(f"a {what} cannot be tested with {condition.operator!r}")

    def _heading(self, condition: Condition) -> str:
        """Test whether any heading of the chunk's path matches."""
        start = self.headings()
        match condition.operator:
            case "exists":
                return "c.headings <> '[]'"
            case "eq":
                return f"{start} h.value = {self.text(facet_text(condition.value))})"
            case "ne":
                return f"NOT {start} h.value = {self.text(facet_text(condition.value))})"
            case "in":
                return f"{start} {self.among('h.value', _texts(condition))})"
            case "glob":
                return f"{start} {self.matches('h.value', facet_text(condition.value))})"
            case _:
                raise FilterError(f"a heading cannot be tested with {condition.operator!r}")

    def _list_values(self, condition: Condition) -> str:
        """Test the lists in the chunk's metadata, or a field of that name in the document's own metadata."""
        if condition.operator == "ne":
            return f"NOT ({self._list_values(replace(condition, operator='eq'))})"
        of_document = self._facet(condition)
        start = self.listed(LISTED[condition.key])
        match condition.operator:
            case "exists":
                return f"({of_document} OR {start} {self.true}))"
            case "eq":
                return f"({of_document} OR {start} h.value = {self.text(facet_text(condition.value))}))"
            case "in":
                return f"({of_document} OR {start} {self.among('h.value', _texts(condition))}))"
            case "glob":
                return f"({of_document} OR {start} {self.matches('h.value', facet_text(condition.value))}))"
            case _:
                return of_document


def listed(condition: Condition) -> list[JsonValue]:
    """Return the values of an `in`."""
    if not isinstance(condition.value, list):
        raise FilterError(f"'in' needs a list of values for {condition.key!r}")
    return condition.value


def facet_groups(where: Filter) -> tuple[tuple[str, ...], ...]:
    """Return the filter as a conjunction of alternatives of facet terms; empty if facets cannot express it."""
    if isinstance(where, Condition):
        conditions: tuple[Filter, ...] = (where,)
    elif isinstance(where, AllOf):
        conditions = where.filters
    else:
        return ()
    groups = [_group(condition) for condition in conditions]
    return tuple(groups) if groups and all(groups) else ()


def _group(condition: Filter) -> tuple[str, ...]:
    if not isinstance(condition, Condition) or condition.key in (*CHUNK_FIELDS, *COLUMNS):
        return ()
    if condition.operator == "eq":
        texts = [facet_text(condition.value)]
    elif condition.operator == "in":
        texts = _texts(condition)
    else:
        return ()
    if any(len(text) >= MAX_TEXT for text in texts):  # longer texts are cut, and are not terms of an index
        return ()
    return tuple(facet_term(condition.key, text) for text in texts)


def asks_chunks(where: Filter) -> bool:
    """Return whether a filter tests chunks, not only documents."""
    match where:
        case Condition():
            return where.key in ("page", "line", "heading") or where.key in LISTED
        case Not():
            return asks_chunks(where.filter)
        case _:
            return any(map(asks_chunks, where.filters))


def check_size(where: Filter) -> None:
    """Raise on filters whose size alone is an attack."""
    pending: list[tuple[Filter, int]] = [(where, 1)]
    conditions = 0
    while pending:
        current, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise FilterError(f"filters may be nested {MAX_DEPTH} deep")
        match current:
            case Condition():
                conditions += len(current.value) if isinstance(current.value, list) else 1
            case Not():
                pending.append((current.filter, depth + 1))
            case AllOf() | AnyOf():
                pending.extend((one, depth + 1) for one in current.filters)
        if conditions > MAX_CONDITIONS:
            raise FilterError(f"a filter may have {MAX_CONDITIONS} conditions")


def _texts(condition: Condition) -> list[str]:
    return [facet_text(item) for item in listed(condition)]
