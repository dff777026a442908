"""The store protocol. Other stages use nothing else of a store; `footnotes.testing` has a suite for all of it.

Every method takes the tenant first; another tenant's id counts as unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from footnotes.store.collections import Collections
from footnotes.store.conversations import Conversations
from footnotes.store.copying import Side
from footnotes.store.documents import Documents
from footnotes.store.generations import Generations
from footnotes.store.jobs import Jobs
from footnotes.store.memories import Memories
from footnotes.store.originals import Originals
from footnotes.store.records import Generation, StoreState, Verification
from footnotes.store.sources import Sources
from footnotes.store.vectors import Vectors
from footnotes.store.views import SearchView
from footnotes.types import ErrorInfo


class Store(Protocol):
    """The data of many tenants, and both legs of their searches."""

    kind: str
    address: str
    """Its address without secrets."""
    stores_terms: bool
    """Whether terms are saved with chunks: a caller who knows them need not have them found again."""
    folder: Path
    originals: Originals
    documents: Documents
    vectors: Vectors
    generations: Generations
    collections: Collections
    jobs: Jobs
    conversations: Conversations

    def close(self) -> None: ...

    # ── locking

    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> AbstractContextManager[None]:
        """Hold a tenant's library for writing. First recovers what an earlier writer left unfinished."""
        ...

    def incoming(self, user_id: str) -> Path:
        """Return a folder for incoming bytes, for the writer; it is emptied at the end."""
        ...

    def recover_if_idle(self, user_id: str) -> None:
        """Recover from dead writers, unless that would block others."""
        ...

    # ── searching

    def view(self, user_id: str, generation: int | None = None) -> SearchView:
        """Return the view of a search: of the serving generation, or of another one as if it served."""
        ...

    def refresh(self, user_id: str) -> None:
        """Read other processes' changes, in parallel to searches, which no longer check for them themselves."""
        ...

    # ── contents

    def users(self) -> list[str]: ...

    def state(self, user_id: str) -> StoreState:
        """Return what a person wants to know of a tenant's library that no other method counts."""
        ...

    def sources(self, user_id: str, collection: str) -> Sources:
        """Return the records on the sources of a collection."""
        ...

    def memories(self, user_id: str) -> Memories:
        """Return the stored answers of models about the tenant's texts."""
        ...

    # ── the legs

    def publish(self, user_id: str, generation: Generation, *, behind: bool = False) -> None:
        """Publish everything saved; only then are documents ready. `behind` lets another process do it, if it can."""
        ...

    def grow_graph(
        self, user_id: str, progress: Callable[[int, int], None] | None = None, *, behind: bool = False
    ) -> None:
        """Improve the indexes if worthwhile: now, or `behind` in the background."""
        ...

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why the vector database could not be updated; the changes wait in the log."""
        ...

    # ── checking and moving

    def verify(self, user_id: str, *, repair: bool = False) -> Verification:
        """Check all data of a tenant; with `repair`, rebuild what can be rebuilt."""
        ...

    def compact(self, user_id: str, *, scrub: bool = False) -> None:
        """Free the space of removed data while others continue; with `scrub`, purge it completely."""
        ...

    def copy_side(self, user_id: str) -> Side:
        """Return the tenant's library as one side of a copy between stores."""
        ...
