"""A library as the asking stage sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from footnotes.asking.options import Searched
from footnotes.embed import Embedder
from footnotes.store import SearchView
from footnotes.store.legs import ran as gave_results
from footnotes.types import SearchResult


class Asked(Searched, Protocol):
    """What is needed of a library: its own public methods."""

    def collections(self) -> list[dict[str, Any]]: ...

    def embedder(self) -> Embedder: ...


class LibraryGround:
    """The `Ground` of one tenant's library. `view` gives its state at this moment."""

    def __init__(self, library: Asked, view: Callable[[], SearchView], user: str) -> None:
        self._library, self._view, self._user = library, view, user
        self.search = library.search
        self.text = library.text
        self.documents = library.documents
        self.chunks = library.chunks

    def system_prompt(self, collection: str) -> str:
        """What a collection adds to the prompt of a model."""
        return self.system_prompts().get(collection, "")

    def system_prompts(self) -> dict[str, str]:
        """What the collections that add anything add to the prompt of a model."""
        listed = self._library.collections()
        return {str(each["name"]): str(each["system_prompt"]) for each in listed if each["system_prompt"]}

    def stamp(self) -> str:
        """Changes whenever the library does: tenant, generation, last change."""
        return f"{self._user}/{self._view().stamp}"

    def evidence(self, found: SearchResult) -> dict[str, Any]:
        """What the answer stage weighs sentences by, as far as the legs that ran can give it."""
        ran = {name for name, leg in found.legs.items() if gave_results(leg)}
        embed = self._library.embedder().embed if "dense" in ran and found.hits else None
        return {"embed": embed, "document_frequency": self._share() if "lexical" in ran else None}

    def _share(self) -> Callable[[str], float]:
        view = self._view()
        total = max(view.chunk_count(), 1)
        return lambda term: view.document_frequency(term) / total
