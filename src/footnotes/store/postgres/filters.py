"""Compiles filters to PostgreSQL with bound values. Results equal SQLite's, to the character."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store.filters import FilterCompiler, check_size
from footnotes.store.postgres.clean import clean
from footnotes.types import Filter


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
