"""What one search asks of a store, and what it gets: one call, one state, whatever is behind it."""

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
    """The names of code a question has: as they are written, and the terms that stand for each of them whole."""

    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


NO_SYMBOLS = Symbols()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for.

    `terms` is how often the question says each of them; without a lexical leg it is None. `vector` gives the question's
    vector, or raises what kept it from being made; without a dense leg it is None. Each leg lists up to `depth` chunks.
    About `reading` of them will be read, `per_document` of any document. `smooths` says whether their vectors are
    wanted too.
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
    """How a leg went, and what it says of every candidate.

    `ranks` counts from 1, and is 0 for those the leg did not list; `scores` is exact, and NaN for those the leg does
    not know. Both are None where the leg did not run.
    """

    leg: Leg
    ranks: Ranks | None = None
    scores: Floats | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All that the legs found, by key.

    `bound` is the highest lexical score any chunk could have, `words` how many of the question's terms some chunk has,
    `chunks` how many chunks there are. `defining` are those that define a name the question has, `using` those that
    hold one. `places` gives the documents and spans of some of the keys; one without a place is served no more.
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

    def is_current(self) -> bool:
        """Whether what was found is still what is served; else the caller begins again."""
        ...

    def chunk_count(self) -> int: ...

    def document_frequency(self, term: str) -> int: ...

    def candidates(self, question: Question) -> Candidates:
        """Run the legs a question asks for, within its filter."""
        ...

    def hits(self, keys: Sequence[int]) -> list[StoredHit]:
        """Candidates to show, those that are still served, in the order asked for."""
        ...
