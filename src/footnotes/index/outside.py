"""A vector database that serves a leg: what one must do, whichever it is.

The truth stays in the store. A vector database is one more cache of it, which happens to live behind a network: it is
fed from the same change log, remembers the last change it has seen, and can be emptied and filled again at any time.
What it finds is looked up in the store before anybody sees it, so that nothing stale, foreign or filtered out is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from footnotes.config import Settings
from footnotes.index import Allowed, Found, Index, Vector

Weights: TypeAlias = Mapping[int, float]
"""Terms as places (0 to 2³² - 1) and what each weighs. The score of a chunk is the inner product of two of them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a vector database is meant: one generation of one tenant of one library."""

    library: str
    """32 hex digits. Several libraries may share a database, and a collection in it."""
    user_id: str
    generation: int
    fingerprint: str
    """Of the embedding model: vectors of different models never share a collection."""
    dimensions: int
    words: str = ""
    """By which version the terms of the lexical leg were made; empty where it is not served."""

    @property
    def tenant(self) -> str:
        """The tenant as others may read it: a hash, for names of users are nobody else's business."""
        owner = f"{self.library}/{self.user_id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(owner).hexdigest()[:24]

    @property
    def model(self) -> str:
        """The model as part of a collection's name."""
        return hashlib.sha256(f"{self.fingerprint}/{self.dimensions}".encode()).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """What the shelf was filled from and by; one with another identity is filled anew."""
        return f"{self.library}/{self.generation}/{self.fingerprint}/{self.dimensions}/{self.words}"


class Shelf(Index, Protocol):
    """One generation's part of a vector database. Every method may raise an `IndexFailed` of `footnotes.errors`."""

    @property
    def seq(self) -> int:
        """The last change it was known to have seen; 0 when nothing is known."""
        ...

    def refresh(self) -> int:
        """Ask the database for the last change the shelf has seen: 0 where it is empty, or another's, or missing."""
        ...

    def search(self, vector: Vector, limit: int, allowed: Allowed | None = None) -> Found:
        """The nearest chunks by cosine, best first, and only those `allowed`."""
        ...

    def search_words(self, weights: Weights, limit: int, allowed: Allowed | None = None) -> Found:
        """Chunks by the inner product with their weights, best first, and only those above zero and `allowed`."""
        ...

    def score_words(self, weights: Weights, keys: Sequence[int]) -> dict[int, float]:
        """That product for given chunks; those with none of the terms may be left out."""
        ...

    def having(self, facets: Sequence[str], limit: int, allowed: Allowed | None = None) -> list[int]:
        """Chunks that have any of some facets, and only those `allowed`."""
        ...

    def remove(self, keys: Sequence[int]) -> None:
        """Take single chunks out, whatever the change log says of them."""
        ...

    def compact(self) -> None:
        """Leave no byte of what was removed, where the files are ours; a server's are left to its owner."""
        ...

    def promote(self) -> None:
        """The generation serves from now on: tell those who look from outside."""
        ...


class VectorDatabase(Protocol):
    """A connection to one vector database; safe to share between threads. Opening it asks nothing of the network."""

    address: str
    """Where it is, as it may be shown to anybody."""
    legs: frozenset[str]
    """Those it is able to serve: "dense", "lexical"."""

    @classmethod
    def opened(cls, settings: Settings) -> VectorDatabase: ...

    def shelf(self, scope: Scope) -> Shelf: ...

    def close(self) -> None: ...
