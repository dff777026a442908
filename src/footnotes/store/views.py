"""What one search sees of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from footnotes.index import Allowed, Found, Vector
from footnotes.store.records import HitRow, Place
from footnotes.types import Filter


@dataclass(frozen=True, slots=True)
class Symbols:
    """The names of code a question has: as they are written, and the terms that stand for each of them whole."""

    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


NO_SYMBOLS = Symbols()


class SearchView(Protocol):
    """One tenant's library at one moment, for one search. The retriever knows nothing else of a store."""

    @property
    def embedder(self) -> str:
        """The name of the model the vectors were made with; empty when there are none."""
        ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def stamp(self) -> str:
        """The generation and its last change: differs whenever a search may find something else."""
        ...

    @property
    def waiting(self) -> int:
        """How many documents the dense leg does not know yet: they are found by their words alone."""
        ...

    @property
    def waiting_words(self) -> int:
        """How many documents the lexical leg does not know yet."""
        ...

    def is_current(self) -> bool: ...

    def allowed(self, where: Filter) -> Allowed: ...

    def chunk_count(self) -> int: ...

    def document_frequency(self, term: str) -> int: ...

    def search_lexical(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None) -> Found: ...

    def score_lexical(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]: ...

    def defining(self, symbols: Symbols, allowed: Allowed | None) -> list[int]:
        """Chunks that define one of the names; some of them, where there are very many."""
        ...

    def using(self, symbols: Symbols, keys: Sequence[int]) -> set[int]:
        """Those of given chunks that hold one of the names."""
        ...

    def search_dense(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found: ...

    def score_dense(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]: ...

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        """The unit vectors of given chunks, a row each; None when they are not all at hand."""
        ...

    def places_of(self, keys: Sequence[int]) -> dict[int, Place]: ...

    def hits(self, keys: Sequence[int]) -> list[HitRow]: ...


class DistantView(SearchView, Protocol):
    """A view whose store is a network away: it is told all that will be asked, and asks its store once."""

    def fetch(
        self,
        terms: Mapping[str, float],
        vector: Vector | None,
        *,
        depth: int,
        where: Filter | None,
        reading: int,
        per_document: int,
        symbols: Symbols = NO_SYMBOLS,
    ) -> None:
        """Run the legs there are terms and a vector for, within a filter; everything else answers from what came."""
        ...
