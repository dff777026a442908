"""The questions of a search to a store, and its answers: one call and one state, whatever the store is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footnotes.index import Vector
from footnotes.store.records import ChunkSpan, StoredHit
from footnotes.types import Filter, Leg

Floats: TypeAlias = NDArray[np.float64]
Ranks: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Symbols:
    """The names of code in a question: as written, and the terms for whole names."""

    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


NO_SYMBOLS = Symbols()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The query of a search.

    `terms` counts each term in the question; None without a lexical leg. `vector` returns the question's vector, or
    raises the error of the embedder; None without a dense leg. Each leg lists up to `depth` chunks. About `reading` of
    them will be read, `per_document` of any document. `smooths` asks for their vectors as well.
    """

    terms: Mapping[str, float] | None
    vector: Callable[[], Vector] | None
    depth: int
    where: Filter | None = None
    symbols: Symbols = NO_SYMBOLS
    reading: int = 20
    per_document: int = 1
    smooths: bool = False


@dataclass(frozen=True, slots=True)
class LegCandidates:
    """A leg's status, and its results for every candidate.

    `ranks` counts from 1; 0 means not listed by the leg. `scores` are exact; NaN means unknown to the leg. Both are
    None if the leg did not run.
    """

    leg: Leg
    ranks: Ranks | None = None
    scores: Floats | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All results of the legs, by key.

    `bound` is the highest possible lexical score, `words` counts the question's terms that occur in any chunk, `chunks`
    counts all chunks. `defining` are the chunks that define a name in the question, `using` those that contain one.
    `places` returns documents and spans of keys; a key without a place is no longer published.
    """

    keys: Sequence[int]
    lexical: LegCandidates
    dense: LegCandidates
    places: Callable[[Sequence[int]], Mapping[int, ChunkSpan]] = field(default=lambda keys: {})
    vectors: Vector | None = None
    bound: float = 0.0
    words: float = 0.0
    chunks: int = 0
    defining: Sequence[int] = ()
    using: frozenset[int] = frozenset()


class SearchView(Protocol):
    """One tenant's library at one moment, for one search. The retriever uses nothing else of a store."""

    @property
    def embedder(self) -> str:
        """The name of the embedding model; empty if there are no vectors."""
        ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def stamp(self) -> str:
        """The generation and its last change: differs whenever a search may have other results."""
        ...

    def is_current(self) -> bool:
        """Return whether the results are still current; if not, the caller starts again."""
        ...

    def chunk_count(self) -> int: ...

    def document_frequency(self, term: str) -> int: ...

    def candidates(self, question: Question) -> Candidates:
        """Run the requested legs within the filter."""
        ...

    def hits(self, keys: Sequence[int]) -> list[StoredHit]:
        """Return the given chunks that still exist, in the given order."""
        ...
