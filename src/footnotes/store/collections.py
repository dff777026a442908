"""Collections: named groups of documents, each with a chunker and a system prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from footnotes.errors import NotFound
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
        chunker_options: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        options = None if chunker_options is None else json.dumps(dict(chunker_options), sort_keys=True)
        with self._core.database.write(user_id) as cursor:
            cursor.run("make_user")
            values = {"chunker": chunker, "chunker_options": options, "system_prompt": system_prompt}
            cursor.run("put_collection", name=name, **values)


def describe_collections(collections: Collections, user_id: str) -> list[dict[str, object]]:
    """Return the collections with their options and number of documents."""
    return [
        {**row, "chunker_options": json.loads(row["chunker_options"] or "null")} for row in collections.all(user_id)
    ]


def check_collection(collections: Collections, user_id: str, name: str) -> None:
    """Raise if the collection does not exist."""
    known = [row["name"] for row in collections.all(user_id)]
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise NotFound(f"there is no collection {name!r}{hint}", remedy="Run `footnotes collections` to list them.")
