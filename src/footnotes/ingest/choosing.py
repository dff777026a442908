"""Chooses the chunker for each document."""

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
"""For every collection: its chunker, if it chose one, and the options of that chunker as JSON."""


class Chunkers:
    """Builds chunkers by name. `parts` are dependencies of some of them; `finished` adds options from the settings."""

    def __init__(
        self, settings: Settings, parts: Callable[[str], dict[str, object]], finished: Callable[[Chunker], Chunker]
    ) -> None:
        self._settings = settings
        self._parts = parts
        self._finished = finished

    def build(self, name: str, options: Mapping[str, object] | None) -> Chunker:
        """Build a chunker. If it asks a model, it asks the model of its options, else the one of the settings."""
        values = dict(options or {})
        model = str(values.get("model") or self._settings.model)
        if name == "llm":
            values["model"] = model
        return make_chunker(name, values, **self._parts(model))

    def of(self, choices: Choices, name: str | None = None, options: Mapping[str, object] | None = None) -> ChunkerOf:
        """Choose the chunker: of the call, else of the collection, else of the kind of document in the settings."""
        chosen_by = {collection: choice for collection, choice in choices.items() if choice[0]}

        @cache
        def chunker_of(collection: str, mime: str) -> Chunker:
            if name is not None:
                kind, chunker_options = name, options
            elif collection in chosen_by:
                kind, chunker_options = (
                    str(chosen_by[collection][0]),
                    json.loads(chosen_by[collection][1] or "{}"),
                )
            elif mime == WIKI:
                kind, chunker_options = "section", {}
            elif is_source_code(mime):
                kind, chunker_options = self._settings.code_chunker, {}
            else:
                kind, chunker_options = self._settings.chunker, options or self._settings.chunker_options
            return self._finished(self.build(kind, chunker_options))

        return chunker_of
