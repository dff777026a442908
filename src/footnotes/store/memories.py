"""What models said, kept with the documents: every machine of a store cuts and describes a text alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class Memories(Protocol):
    """One tenant's remembered sayings, by the text they are about and a key."""

    def recall(self, scope: str, key: str) -> str | None: ...

    def remember(self, scope: str, key: str, value: str) -> None:
        """Keep a value; the first one stays."""
        ...

    def scopes(self) -> list[str]:
        """The texts of which something is remembered."""
        ...

    def forget(self, scopes: Iterable[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of one text."""

    memories: Memories
    scope: str = ""

    def get(self, key: str) -> str | None:
        return self.memories.recall(self.scope, key)

    def put(self, key: str, value: str) -> None:
        self.memories.remember(self.scope, key, value)
