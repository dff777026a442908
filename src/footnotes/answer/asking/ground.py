"""One tenant's library, as the answer stage sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Unpack

from footnotes.embed.embedders import Embedders
from footnotes.errors import NotFound
from footnotes.retrieve.searcher import SearchChoices, Searcher
from footnotes.retrieve.where import Where, as_filter, in_collection
from footnotes.store import Store
from footnotes.store.legs import ran as gave_results
from footnotes.types import Chunk, Document, SearchResult


class Ground:
    """Searches and reads a library for the answer stage."""

    def __init__(self, store: Store, user: str, searcher: Searcher, embedders: Embedders) -> None:
        self._store, self._user, self._searcher, self._embedders = store, user, searcher, embedders

    def search(self, query: str, **choices: Unpack[SearchChoices]) -> SearchResult:
        return self._searcher.search(query, choices)

    def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        return self._store.documents.text(self._user, document_id, start, end)

    def documents(self, *, where: Where | None = None, collection: str | None = None) -> list[Document]:
        return self._store.documents.all(self._user, where=in_collection(as_filter(where), collection))

    def chunks(self, document_id: str) -> list[Chunk]:
        return self._store.documents.chunks(self._user, document_id)

    def checksum(self, document_id: str) -> str:
        """Return the checksum of a document's file; empty if it was deleted meanwhile."""
        with suppress(NotFound):
            return self._store.documents.find(self._user, document_id).document.file_hash
        return ""

    def system_prompt(self, collection: str) -> str:
        """Return what a collection adds to the prompt of a model."""
        return self.system_prompts().get(collection, "")

    def system_prompts(self) -> dict[str, str]:
        """Return the additions to the prompt of a model, by collection."""
        rows = self._store.collections.all(self._user)
        return {str(row["name"]): str(row["system_prompt"]) for row in rows if row["system_prompt"]}

    def stamp(self) -> str:
        """Return a stamp that changes whenever the library does: tenant, generation, last change."""
        return f"{self._user}/{self._searcher.view().stamp}"

    def evidence(self, found: SearchResult) -> dict[str, Any]:
        """Return `embed` and `document_frequency` of `Findings`, as far as the legs that ran provide them."""
        ran = {name for name, leg in found.legs.items() if gave_results(leg)}
        embed = self._embedders.get().embed if "dense" in ran and found.hits else None
        return {"embed": embed, "document_frequency": self._share() if "lexical" in ran else None}

    def _share(self) -> Callable[[str], float]:
        view = self._searcher.view()
        total = max(view.chunk_count(), 1)
        return lambda term: view.document_frequency(term) / total
