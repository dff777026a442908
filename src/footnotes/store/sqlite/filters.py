"""Filters → SQL with bound values, and → facet terms where a filter can be said in them."""

from __future__ import annotations

from typing import assert_never

from footnotes.errors import FilterError
from footnotes.store.facets import CHUNK_FIELDS, DATES, as_number, facet_term, facet_text
from footnotes.types import AllOf, AnyOf, Condition, Filter, JsonValue, Not

MAX_CONDITIONS = 200
MAX_DEPTH = 20

_COMPARISON = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
Bindings = list[str | int | float | None]


def compile_filter(where: Filter, user_id: str) -> tuple[str, Bindings]:
    """A boolean expression over `c` (chunks) and `d` (documents). The tenant is never part of a filter."""
    _check_size(where)
    return _compiled(where, user_id)


def facet_groups(where: Filter) -> tuple[tuple[str, ...], ...]:
    """The filter as a conjunction of alternatives of facet terms; empty when it cannot be said so."""
    if isinstance(where, Condition):
        conditions: tuple[Filter, ...] = (where,)
    elif isinstance(where, AllOf):
        conditions = where.filters
    else:
        return ()
    groups = [_group(condition) for condition in conditions]
    return tuple(groups) if groups and all(groups) else ()


def _group(condition: Filter) -> tuple[str, ...]:
    if not isinstance(condition, Condition) or condition.key in CHUNK_FIELDS:
        return ()
    if condition.operator == "eq":
        return (facet_term(condition.key, facet_text(condition.value)),)
    if condition.operator == "in":
        return tuple(facet_term(condition.key, facet_text(value)) for value in _listed(condition))
    return ()


def _compiled(where: Filter, user_id: str) -> tuple[str, Bindings]:
    match where:
        case Condition():
            by_field = {"page": _page, "line": _line, "heading": _heading}
            return by_field[where.key](where) if where.key in by_field else _facet(where, user_id)
        case AllOf():
            return _joined(where.filters, " AND ", "1", user_id)
        case AnyOf():
            return _joined(where.filters, " OR ", "0", user_id)
        case Not():
            inner, bindings = _compiled(where.filter, user_id)
            return f"NOT ({inner})", bindings
        case _:
            assert_never(where)


def _joined(filters: tuple[Filter, ...], operator: str, empty: str, user_id: str) -> tuple[str, Bindings]:
    if not filters:
        return empty, []
    compiled = [_compiled(one, user_id) for one in filters]
    return "(" + operator.join(sql for sql, _ in compiled) + ")", [b for _, bindings in compiled for b in bindings]


def _facet(condition: Condition, user_id: str) -> tuple[str, Bindings]:
    """Documents with a facet that passes. `IN (SELECT …)` lets SQLite start from the facets, not from all documents."""
    key, value = condition.key, condition.value
    select = "d.pk IN (SELECT document FROM facets WHERE user_id = ? AND key = ?"
    bindings: Bindings = [user_id, key]
    match condition.operator:
        case "exists":
            return f"{select})", bindings
        case "eq":
            return f"{select} AND text = ?)", [*bindings, facet_text(value)]
        case "ne":
            return f"NOT {select} AND text = ?)", [*bindings, facet_text(value)]
        case "in":
            values = [facet_text(item) for item in _listed(condition)]
            return f"{select} AND text IN ({', '.join('?' * len(values))}))", [*bindings, *values]
        case "glob":
            return f"{select} AND text GLOB ?)", [*bindings, facet_text(value)]
        case "gt" | "gte" | "lt" | "lte":
            column, bound = ("text", facet_text(value)) if key in DATES else _comparable(value)
            return f"{select} AND {column} {_COMPARISON[condition.operator]} ?)", [*bindings, bound]
        case _:
            raise FilterError(f"there is no operator {condition.operator!r}")


def _comparable(value: JsonValue) -> tuple[str, str | float]:
    """Numbers are compared as numbers, everything else (dates among it) as text."""
    number = as_number(value)
    return ("text", facet_text(value)) if number is None else ("number", number)


def _page(condition: Condition) -> tuple[str, Bindings]:
    return _within("page", condition)


def _line(condition: Condition) -> tuple[str, Bindings]:
    return _within("line", condition)


def _within(what: str, condition: Condition) -> tuple[str, Bindings]:
    """A test on the pages or lines a chunk stands on."""
    first, last = f"c.{what}_first", f"c.{what}_last"
    if condition.operator == "exists":
        return f"{first} IS NOT NULL", []
    if condition.operator == "in":
        parts = [_within(what, Condition(what, "eq", item)) for item in _listed(condition)]
        return "(" + " OR ".join(sql for sql, _ in parts) + ")", [b for _, bindings in parts for b in bindings]
    number = as_number(condition.value)
    if number is None:
        raise FilterError(f"a {what} is a number, not {condition.value!r}")
    match condition.operator:
        case "eq":
            return f"COALESCE(? BETWEEN {first} AND {last}, 0)", [number]
        case "ne":
            return f"NOT COALESCE(? BETWEEN {first} AND {last}, 0)", [number]
        case "gt" | "gte":
            return f"COALESCE({last} {_COMPARISON[condition.operator]} ?, 0)", [number]
        case "lt" | "lte":
            return f"COALESCE({first} {_COMPARISON[condition.operator]} ?, 0)", [number]
        case _:
            raise FilterError(f"a {what} cannot be tested with {condition.operator!r}")


def _heading(condition: Condition) -> tuple[str, Bindings]:
    """Any heading of the path above the chunk."""
    listed = "EXISTS (SELECT 1 FROM json_each(c.headings) h WHERE h.value"
    match condition.operator:
        case "exists":
            return "c.headings <> '[]'", []
        case "eq":
            return f"{listed} = ?)", [facet_text(condition.value)]
        case "ne":
            return f"NOT {listed} = ?)", [facet_text(condition.value)]
        case "in":
            values = [facet_text(item) for item in _listed(condition)]
            return f"{listed} IN ({', '.join('?' * len(values))}))", [*values]
        case "glob":
            return f"{listed} GLOB ?)", [facet_text(condition.value)]
        case _:
            raise FilterError(f"a heading cannot be tested with {condition.operator!r}")


def _listed(condition: Condition) -> list[JsonValue]:
    if not isinstance(condition.value, list):
        raise FilterError(f"'in' needs a list of values for {condition.key!r}")
    return condition.value


def _check_size(where: Filter) -> None:
    """Refuse filters whose size alone is an attack."""
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
