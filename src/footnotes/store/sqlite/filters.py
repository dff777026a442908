"""Filters → SQL of SQLite with bound values, and → facet terms where a filter can be said in them."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.facets import CHUNK_FIELDS, facet_term, facet_text
from footnotes.store.filters import FilterCompiler, check_size, listed
from footnotes.types import AllOf, Condition, Filter

Bindings = list[str | int | float | None]


def compile_filter(where: Filter, user_id: str) -> tuple[str, Bindings]:
    """A boolean expression over `c` (chunks) and `d` (documents), and what is bound in it."""
    check_size(where)
    compiler = _SqliteFilters(user_id)
    return compiler.compiled(where), compiler.bindings


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
        return tuple(facet_term(condition.key, facet_text(value)) for value in listed(condition))
    return ()


class _SqliteFilters(FilterCompiler):
    true, false = "1", "0"

    def __init__(self, user_id: str) -> None:
        super().__init__(user_id)
        self.bindings: Bindings = []

    def text(self, value: str) -> str:
        self.bindings.append(value)
        return "?"

    def number(self, value: float) -> str:
        self.bindings.append(value)
        return "?"

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
        # Most chunks list nothing, and looking for a name is faster than reading JSON. An object lists nothing.
        return (
            f"instr(c.metadata, '\"{name}\"') AND json_type(c.metadata, '$.{name}') IN ('array', 'text') AND "  # noqa: S608
            f"EXISTS (SELECT 1 FROM json_each(c.metadata, '$.{name}') h WHERE h.type = 'text' AND"
        )
