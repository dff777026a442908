"""What adding, following and reindexing share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import TypedDict

from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.asking.say import saying
from footnotes.chunk import Chunker, make_chunker
from footnotes.chunk.contextual import ContextualChunker
from footnotes.embed.checked import embed_all
from footnotes.embed.embedders import Embedders
from footnotes.errors import NotFound, OptionError
from footnotes.ingest.derive import ChunkerOf
from footnotes.ingest.embedding import Embedding
from footnotes.ingest.ingestor import Ingestor, IngestTarget, MetadataOf
from footnotes.ingest.names import parse_collection
from footnotes.ingest.pipeline import Pipeline
from footnotes.ingest.work import OnProgress, Progress, quiet
from footnotes.parse.open import Limits
from footnotes.parse.types_by_name import WIKI, is_source_code
from footnotes.settings import Settings
from footnotes.store import Store
from footnotes.store.memories import Memories, Memory

Choices = Mapping[str, Sequence[str | None]]
"""For every collection: its chunker, if it chose one, and the options of that chunker as JSON."""


class CollectionOptions(TypedDict, total=False):
    """What a collection chooses; what is missing stays."""

    chunker: str | None
    chunker_options: Mapping[str, object] | None
    system_prompt: str | None


class IngestContext:
    """One tenant's store, embedders and chunkers, and their pipeline."""

    def __init__(self, store: Store, user: str, settings: Settings, folder: Path, embedders: Embedders) -> None:
        self.store = store
        self.user = user
        self.settings = settings
        self.folder = folder
        self.embedders = embedders
        self.chunkers = Chunkers(settings, self._chunker_parts, self._add_contexts)
        self.ingestor = Ingestor(store, user, settings)

    def writing(self, purpose: str) -> AbstractContextManager[None]:
        """Hold the tenant's library for writing."""
        return self.store.writing(self.user, purpose)

    def collection(self, name: str | None) -> str:
        """Return the collection, or raise if its name is invalid."""
        return parse_collection(name or self.settings.collection)

    def target(
        self,
        collection: str,
        metadata: MetadataOf = None,
        chunker: str | None = None,
        chunker_options: Mapping[str, object] | None = None,
        on_progress: OnProgress | None = None,
    ) -> IngestTarget:
        """Build the destination and options of documents."""
        chunker_of = self.chunker_of(chunker, chunker_options)
        return IngestTarget(collection, metadata, chunker_of, self.pipeline(on_progress))

    def pipeline(self, on_progress: OnProgress | None) -> Pipeline:
        return Pipeline(self.embedding(on_progress), self.limits(), self.settings.max_file_bytes)

    def limits(self) -> Limits:
        settings = self.settings
        return Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)

    def embedding(self, on_progress: OnProgress | None, embedder: str | None = None) -> Embedding:
        """Return the embedder of the settings, or a named one, with the store."""
        found = self.embedders.get(embedder)
        return Embedding(self.store, self.user, found, self.settings.embed_batch, on_progress or quiet)

    def chunker_of(self, name: str | None = None, options: Mapping[str, object] | None = None) -> ChunkerOf:
        return self.chunkers.of(self.choices(), name, options)

    def choices(self) -> dict[str, list[str | None]]:
        """Return the chunker and its options chosen for every collection."""
        rows = self.store.collections.all(self.user)
        return {row["name"]: [row["chunker"], row["chunker_options"]] for row in rows}

    def set_collection(self, name: str, options: CollectionOptions) -> None:
        """Set a collection's choices. Raises if its chunker cannot be built with them."""
        chunker, chunker_options = options.get("chunker"), options.get("chunker_options")
        if chunker is None and chunker_options is not None:
            chunker = self.choices().get(name, [None])[0]
            if chunker is None:
                raise OptionError("chunker options need the chunker's name", remedy="Pass the chunker too.")
        if chunker is not None:
            self.chunkers.build(chunker, chunker_options)
        self.store.collections.set(
            self.user,
            parse_collection(name),
            chunker=options.get("chunker"),
            chunker_options=chunker_options,
            system_prompt=options.get("system_prompt"),
        )

    def finish_graph(self, on_progress: OnProgress | None) -> None:
        """Improve the dense index: now, if a person waits and the process may end after; else in the background."""
        if (report := on_progress) is None:
            self.store.grow_graph(self.user, behind=True)
        else:
            self.store.grow_graph(self.user, lambda done, total: report(Progress("graph", done, total)))

    @property
    def memories(self) -> Memories:
        """Cached output of models about texts: it reveals documents, and is deleted with them."""
        return self.store.memories(self.user)

    def texts(self, ids: Iterable[str]) -> Iterator[str]:
        """Yield the parts of documents, skipping those without a text."""
        for document_id in ids:
            with suppress(NotFound):
                yield from (part.text for part in self.store.documents.parts(self.user, document_id))

    def _add_contexts(self, chunker: Chunker) -> Chunker:
        """Build the chunker, with a context for every chunk if the settings name a model for it."""
        model = self.settings.contextual
        if not model:
            return chunker

        def memory_of(scope: str) -> Memory:
            return Memory(self.memories, scope)

        return ContextualChunker(chunker, say=saying(self.settings, model), model=model, memory_of=memory_of)

    def _chunker_parts(self, model: str) -> dict[str, object]:
        say = None if model == EXTRACTIVE else saying(self.settings, model, max_tokens=self.settings.max_tokens)
        return {"embed": self._embed_passages, "say": say, "memory": Memory(self.memories)}

    def _embed_passages(self, texts: Sequence[str]) -> object:
        return embed_all(self.embedders.get(), texts, role="passage", batch=self.settings.embed_batch)


# ── chooses the chunker for each document ─────────────────────────────────────────────────────────────────────


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
