"""Patterns of filters in PostgreSQL."""

from __future__ import annotations

from typing import Any

import apsw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footnotes.library import Library


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pattern=st.text("ab]c[^-*?é日😀\\.$(\n", max_size=7),
    texts=st.lists(st.text("abc]^-[é日😀\\.$(\n", max_size=4), min_size=1, max_size=8),
)
def test_patterns_mean_what_they_mean_to_sqlite(both: tuple[Library, Library], pattern: str, texts: list[str]) -> None:
    from footnotes.store.postgres.cursor import glob_expression

    plain = apsw.Connection(":memory:")
    expected = [bool(plain.execute("SELECT ? GLOB ?", (text, pattern)).fetchone()[0]) for text in texts]  # type: ignore[index]
    expression = glob_expression(pattern)
    database: Any = both[1]._store.database  # type: ignore[attr-defined]
    query = "SELECT text ~ $2 FROM unnest($1::text[]) WITH ORDINALITY AS t (text, place) ORDER BY place"
    found = [False] * len(texts)
    if expression is not None:
        found = [row[0] for row in database.fetch("local", query, texts, expression)]
    assert found == expected
