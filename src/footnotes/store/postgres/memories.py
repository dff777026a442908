"""What models said, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from footnotes.store.postgres.clean import clean
from footnotes.store.postgres.database import Database
from footnotes.store.postgres.sql import queries


@dataclass(frozen=True, slots=True)
class PostgresMemories:
    """Of one tenant."""

    database: Database
    user_id: str

    def recall(self, scope: str, key: str) -> str | None:
        rows = self.database.fetch(self.user_id, queries()["recall"], self.user_id, scope, key)
        return str(rows[0][0]) if rows else None

    def remember(self, scope: str, key: str, value: str) -> None:
        self.database.fetch(self.user_id, queries()["remember"], self.user_id, scope, key, clean(value))

    def scopes(self) -> list[str]:
        return [str(row[0]) for row in self.database.fetch(self.user_id, queries()["remembered_scopes"], self.user_id)]

    def forget(self, scopes: Iterable[str]) -> None:
        for scope in scopes:
            self.database.fetch(self.user_id, queries()["forget_scope"], self.user_id, scope)
