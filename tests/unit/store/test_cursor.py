"""The cursor of SQLite."""

from __future__ import annotations

import apsw
import pytest

from footnotes.store.sqlite.cursor import SqliteCursor


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 63, 64, 65, 137])
def test_rows_are_written_in_statements_of_any_size(count: int) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE sources (user_id, collection, source, document, PRIMARY KEY (source))")
    connection.execute("CREATE UNIQUE INDEX one ON sources (user_id, collection, source)")
    rows = [("u", "c", f"source {number}", number) for number in range(count)]
    SqliteCursor(connection, "u").insert("put_sources", rows)
    assert connection.execute("SELECT * FROM sources ORDER BY document").fetchall() == rows
