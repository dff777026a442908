"""What adding, following and reindexing share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from footnotes.answer.answerer import EXTRACTIVE
from footnotes.answer.asking.say import saying
from footnotes.chunk import Chunker
from footnotes.chunk.contextual import ContextualChunker
from footnotes.embed.checked import embed_all
from footnotes.embed.embedders import Embedders
from footnotes.errors import NotFound
from footnotes.ingest.choosing import Chunkers
from footnotes.ingest.derive import ChunkerOf
from footnotes.ingest.ingestor import Ingestor, IngestTarget, MetadataOf
from footnotes.ingest.names import parse_collection
from footnotes.ingest.pipeline import Pipeline
from footnotes.ingest.work import OnProgress, Progress, quiet
from footnotes.parse.open import Limits
from footnotes.settings import Settings
from footnotes.store import Store
from footnotes.store.memories import Memories, Memory


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
        return Pipeline(
            self.store,
            self.user,
            embedder=self.embedders.get(),
            limits=self.limits(),
            max_file_bytes=self.settings.max_file_bytes,
            embed_batch=self.settings.embed_batch,
            on_progress=on_progress or quiet,
        )

    def limits(self) -> Limits:
        settings = self.settings
        return Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)

    def chunker_of(self, name: str | None = None, options: Mapping[str, object] | None = None) -> ChunkerOf:
        return self.chunkers.of(self.store.generations.choices(self.user), name, options)

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
