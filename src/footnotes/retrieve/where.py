"""Parses filters from `key=value`, `layer:domain` and JSON, for command line, server and Python callers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from footnotes.errors import FilterError
from footnotes.retrieve.words import leading_words
from footnotes.store.facets import MAX_KEY
from footnotes.types import AllOf, AnyOf, Condition, Filter, JsonValue, Not, Operator

_WRITTEN = re.compile(r"^([^=<>!~]+?)\s*(>=|<=|!=|=|>|<|~)\s*(.*)$", re.DOTALL)
_OPERATORS: dict[str, Operator] = {
    "=": "eq",
    "!=": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "~": "glob",
}
_NAMED: dict[str, Operator] = {f"${name}": name for name in _OPERATORS.values()}
_NAMED |= {"$in": "in", "$exists": "exists"}
_MAX_DEPTH = 40

Where: TypeAlias = "Filter | Mapping[str, object] | Sequence[str] | str"


def as_filter(where: Where | None) -> Filter | None:
    """Build a filter from any accepted form; None for no filter."""
    if where is None or isinstance(where, (Condition, AllOf, AnyOf, Not)):
        return where
    if isinstance(where, str):
        return parse_written(where)
    if isinstance(where, Mapping):
        return from_json(where)
    if not isinstance(where, Sequence) or not all(isinstance(item, str) for item in where):
        raise FilterError(
            f"a filter is text, a list of texts, an object or a Filter, not {type(where).__name__}",
            remedy='Write it as "year>=2020", ["year>=2020", "lang=en"] or {"year": {"$gte": 2020}}.',
        )
    return both(*(parse_written(item) for item in where))


def both(*filters: Filter | None) -> Filter | None:
    """Combine filters with AND; None if there are none."""
    present = tuple(one for one in filters if one is not None)
    if not present:
        return None
    return present[0] if len(present) == 1 else AllOf(present)


def in_collection(where: Filter | None, collection: str | None) -> Filter | None:
    """Restrict a filter to a collection, if one is given."""
    return both(None if collection is None else Condition("collection", "eq", collection), where)


def parse_written(text: str) -> Filter:
    """Parse a condition, or words such as `layer:domain path:src/**`, optionally followed by one condition."""
    words, rest = leading_words(text)
    if rest or not words:
        words = [*words, parse_condition(rest)]
    return words[0] if len(words) == 1 else AllOf(tuple(words))


def parse_condition(text: str) -> Condition:
    """Parse `year>=2020`, `mime=application/pdf`, `filename~*.md`, `tag!=draft`, or `author` for "has an author"."""
    found = _WRITTEN.match(text.strip())
    if found is None:
        return Condition(_check_key(text.strip()), "exists")
    key, operator, value = found.groups()
    return Condition(_check_key(key.strip()), _OPERATORS[operator], value.strip())


def as_json(where: Where | None) -> dict[str, object] | None:
    """Return a filter in the form that `from_json` reads; None for no filter."""
    found = as_filter(where)
    return None if found is None else _parse_clause(found)


def _parse_clause(found: Filter) -> dict[str, object]:
    if isinstance(found, Condition):
        return {found.key: {f"${found.operator}": found.value}}
    if isinstance(found, Not):
        return {"$not": _parse_clause(found.filter)}
    return {"$and" if isinstance(found, AllOf) else "$or": [_parse_clause(one) for one in found.filters]}


def from_json(where: Mapping[str, object], *, depth: int = 0) -> Filter:
    """Parse `{"year": {"$gte": 2020}, "$or": [{"tag": "a"}, {"tag": "b"}], "$not": {…}}`; all keys must match."""
    if depth > _MAX_DEPTH:
        raise FilterError("the filter is nested too deeply")
    filters = [_member(key, value, depth) for key, value in where.items()]
    return filters[0] if len(filters) == 1 else AllOf(tuple(filters))


def _member(key: str, value: object, depth: int) -> Filter:
    if key in ("$and", "$or"):
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise FilterError(f"{key} needs a list of filters")
        parts = tuple(from_json(item, depth=depth + 1) for item in value)
        return AllOf(parts) if key == "$and" else AnyOf(parts)
    if key == "$not":
        if not isinstance(value, Mapping):
            raise FilterError("$not needs a filter")
        return Not(from_json(value, depth=depth + 1))
    if isinstance(value, Mapping):
        tests = tuple(_test(key, name, operand) for name, operand in value.items())
        if not tests:
            raise FilterError(f"the filter on {key!r} tests nothing")
        return tests[0] if len(tests) == 1 else AllOf(tests)
    if isinstance(value, list):
        return Condition(_check_key(key), "in", _check_list(key, value))
    return Condition(_check_key(key), "eq", _check_value(key, value))


def _test(key: str, name: str, operand: object) -> Condition:
    if name not in _NAMED:
        raise FilterError(f"there is no operator {name!r}; known: {', '.join(sorted(_NAMED))}")
    operator = _NAMED[name]
    if operator == "in":
        if not isinstance(operand, list):
            raise FilterError(f"$in needs a list of values for {key!r}")
        return Condition(_check_key(key), "in", _check_list(key, operand))
    return Condition(_check_key(key), operator, _check_value(key, operand))


def _check_key(key: str) -> str:
    if not isinstance(key, str) or not key or len(key) > MAX_KEY or key.startswith("$"):
        raise FilterError(f"{str(key)[:40]!r} is not a field to filter on")
    return key


def _check_value(key: str, value: object) -> JsonValue:
    if value is None or not isinstance(value, (str, int, float, bool)):
        raise FilterError(f"the value for {key!r} must be text, a number or true or false")
    return value


def _check_list(key: str, values: list[object]) -> JsonValue:
    return [_check_value(key, value) for value in values]
