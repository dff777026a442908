"""The protocols of vector databases, which may serve a leg.

The store holds the truth. A vector database is one more cache of it, behind a network: it applies the same change log,
records the last change it has applied, and can be cleared and filled again at any time. Its results are looked up in
the store before they are shown, so nothing stale, foreign or filtered out appears.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from footnotes.index import Change, Index
from footnotes.settings import Settings


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a vector database for one generation of one tenant of one library."""

    library: str
    """32 hex digits. Several libraries may share a database and a collection in it."""
    user_id: str
    generation: int
    fingerprint: str
    """The embedding model's: vectors of different models never share a collection."""
    dimensions: int
    words: str = ""
    """The version of the analysis for the lexical leg; empty if the leg is not served."""

    @property
    def tenant(self) -> str:
        """The tenant's public name: a hash, because user names are private."""
        owner = f"{self.library}/{self.user_id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(owner).hexdigest()[:24]

    @property
    def model(self) -> str:
        """The model as part of a collection's name."""
        return hashlib.sha256(f"{self.fingerprint}/{self.dimensions}".encode()).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """The identity of the index's content; an index with another identity is filled again."""
        return f"{self.library}/{self.generation}/{self.fingerprint}/{self.dimensions}/{self.words}"


class RemoteIndex(Index, Protocol):
    """One generation's index in a vector database. Every method may raise an `IndexFailed` of `footnotes.errors`.

    The six methods of `Index` suffice. `search` receives a vector, and also weights and facets if the index serves the
    lexical leg. The methods here are for databases that can do more.
    """

    def refresh(self) -> int:
        """Ask the database for the last change applied: 0 if the index is empty, missing, or has another identity."""
        return self.position

    def remove(self, keys: Sequence[int]) -> None:
        """Delete single chunks, whatever the change log says of them."""
        ranges = [(key, 1) for key in keys]
        self.apply([Change(self.position, 0, (), ranges, only_removed=True)], position=self.position)

    def compact(self) -> None:
        """Purge all deleted data from the files if they are ours; a server's files are left to its owner."""
        return

    def promote(self) -> None:
        """Publish the generation to external readers."""
        return


class VectorDatabase(Protocol):
    """A connection to one vector database; safe to share between threads. Opening it does not use the network."""

    address: str
    """Its address without secrets."""
    legs: frozenset[str]
    """The legs it can serve: "dense", "lexical"."""

    @classmethod
    def opened(cls, settings: Settings) -> VectorDatabase: ...

    def index(self, scope: Scope) -> RemoteIndex: ...

    def close(self) -> None: ...
