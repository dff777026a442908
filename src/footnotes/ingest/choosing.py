"""Which chunker cuts which document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from footnotes.chunk import Chunker
from footnotes.chunk.make import make_chunker
from footnotes.ingest.derive import ChunkerOf
from footnotes.parse.types_by_name import WIKI, is_source_code
from footnotes.settings import Settings

Choices = Mapping[str, Sequence[str | None]]
"""Of every collection: its chunker, if it chose one, and that one's options as JSON."""


class Chunkers:
    """Builds chunkers by name. `parts` are dependencies of some of them; `finished` adds options from the settings."""

    def __init__(
        self, settings: Settings, parts: Callable[[str], dict[str, object]], finished: Callable[[Chunker], Chunker]
    ) -> None:
        self._settings = settings
        self._parts = parts
        self._finished = finished

    def made(self, name: str, options: Mapping[str, object] | None) -> Chunker:
        """A chunker, or a clear error. One that asks a model asks the one of its options, else the one that is set."""
        given = dict(options or {})
        model = str(given.get("model") or self._settings.model)
        if name == "llm":
            given["model"] = model
        return make_chunker(name, given, **self._parts(model))

    def of(self, choices: Choices, name: str | None = None, options: Mapping[str, object] | None = None) -> ChunkerOf:
        """The chunker of a call, else of a collection, else of a kind of document in the settings."""
        chosen_by = {collection: choice for collection, choice in choices.items() if choice[0]}

        @cache
        def chunker_of(collection: str, mime: str) -> Chunker:
            if name is not None:
                chosen, given = name, options
            elif collection in chosen_by:
                chosen, given = str(chosen_by[collection][0]), json.loads(chosen_by[collection][1] or "{}")
            elif mime == WIKI:
                chosen, given = "section", {}
            elif is_source_code(mime):
                chosen, given = self._settings.code_chunker, {}
            else:
                chosen, given = self._settings.chunker, options or self._settings.chunker_options
            return self._finished(self.made(chosen, given))

        return chunker_of
