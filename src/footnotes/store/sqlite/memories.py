"""What models said, in SQLite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.sql import queries


@dataclass(frozen=True, slots=True)
class SqliteMemories:
    """Of one tenant."""

    database: Database
    user_id: str

    def recall(self, scope: str, key: str) -> str | None:
        with self.database.snapshot() as connection:
            row = connection.execute(queries()["recall"], (self.user_id, scope, key)).fetchone()
        return None if row is None else str(row[0])

    def remember(self, scope: str, key: str, value: str) -> None:
        with self.database.transaction() as connection:
            connection.execute(queries()["remember"], (self.user_id, scope, key, value))

    def scopes(self) -> list[str]:
        with self.database.snapshot() as connection:
            return [str(row[0]) for row in connection.execute(queries()["remembered_scopes"], (self.user_id,))]

    def forget(self, scopes: Iterable[str]) -> None:
        with self.database.transaction() as connection:
            connection.executemany(queries()["forget_scope"], [(self.user_id, scope) for scope in scopes])
