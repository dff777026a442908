"""Answers of models, stored with the documents, so that every machine cuts and describes a text alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from footnotes.store.database import Database


@dataclass(frozen=True, slots=True)
class Memories:
    """One tenant's stored answers, by text and key."""

    database: Database
    user_id: str

    def recall(self, scope: str, key: str) -> str | None:
        with self.database.read(self.user_id) as cursor:
            found: str | None = cursor.value("recall", scope=scope, key=key)
        return found

    def remember(self, scope: str, key: str, value: str) -> None:
        """Store a value; an existing one stays."""
        with self.database.write(self.user_id) as cursor:
            cursor.run("remember", scope=scope, key=key, value=value)

    def scopes(self) -> list[str]:
        """Return the texts that have stored answers."""
        with self.database.read(self.user_id) as cursor:
            return [row["scope"] for row in cursor.all("remembered_scopes")]

    def forget(self, scopes: Iterable[str]) -> None:
        if names := list(scopes):
            with self.database.write(self.user_id) as cursor:
                cursor.run("forget_scopes", scopes=names)


@dataclass(frozen=True, slots=True)
class Memory:
    """The stored answers about one text."""

    memories: Memories
    scope: str = ""

    def get(self, key: str) -> str | None:
        return self.memories.recall(self.scope, key)

    def put(self, key: str, value: str) -> None:
        self.memories.remember(self.scope, key, value)
