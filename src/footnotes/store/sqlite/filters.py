"""Compiles filters to SQLite with bound values."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.filters import FilterCompiler, check_size
from footnotes.types import Filter

Bindings = list[str | int | float | None]


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
