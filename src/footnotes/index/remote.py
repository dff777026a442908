"""A vector database that serves a leg: what one must do, whichever it is.

The truth stays in the store. A vector database is one more cache of it, which happens to live behind a network: it is
fed from the same change log, remembers the last change it has seen, and can be emptied and filled again at any time.
What it finds is looked up in the store before anybody sees it, so that nothing stale, foreign or filtered out is shown.
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
        """What the index was filled from and by; one with another identity is filled again."""
        return f"{self.library}/{self.generation}/{self.fingerprint}/{self.dimensions}/{self.words}"


class RemoteIndex(Index, Protocol):
    """One generation's index in a vector database. Every method may raise an `IndexFailed` of `footnotes.errors`.

    The six methods of `Index` are enough. `search` is asked for a vector, and for weights and facets where the index
    serves the lexical leg. The methods here are for databases that can do more.
    """

    def refresh(self) -> int:
        """Ask the database for the last change the index has seen: 0 where it is empty, or another's, or missing."""
        return self.position

    def remove(self, keys: Sequence[int]) -> None:
        """Take single chunks out, whatever the change log says of them."""
        ranges = [(key, 1) for key in keys]
        self.apply([Change(self.position, 0, (), ranges, only_removed=True)], position=self.position)

    def compact(self) -> None:
        """Leave no byte of what was removed, where the files are ours; a server's are left to its owner."""
        return

    def promote(self) -> None:
        """The generation serves from now on: tell those who look from outside."""
        return


class VectorDatabase(Protocol):
    """A connection to one vector database; safe to share between threads. Opening it asks nothing of the network."""

    address: str
    """Where it is, as it may be shown to anybody."""
    legs: frozenset[str]
    """Those it is able to serve: "dense", "lexical"."""

    @classmethod
    def opened(cls, settings: Settings) -> VectorDatabase: ...

    def index(self, scope: Scope) -> RemoteIndex: ...

    def close(self) -> None: ...
