"""Collections: named groups of documents with a chunker and a system prompt of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from footnotes.store import generations
from footnotes.store.core import Core
from footnotes.store.retry import retrying


class Collections:
    """The collections of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def all(self, user_id: str) -> list[dict[str, Any]]:
        with self._core.database.read(user_id) as cursor:
            return [dict(row) for row in cursor.all("collections")]

    @retrying
    def set(
        self,
        user_id: str,
        name: str,
        *,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        options = None if chunker_options is None else json.dumps(dict(chunker_options), sort_keys=True)
        with self._core.database.write(user_id) as cursor:
            cursor.run("make_user")
            said = {"chunker": chunker, "chunker_options": options, "system_prompt": system_prompt}
            cursor.run("put_collection", name=name, **said)

    @retrying
    def drop(self, user_id: str, name: str) -> None:
        """Forget a collection that has no documents: its name, its prompt, and what was known of its sources."""
        with self._core.database.write(user_id) as cursor:
            generations.drop_collection(cursor, name)
        self._core.database.checkpoint()
