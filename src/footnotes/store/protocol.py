"""What a store does. The stages above know nothing else of one; `footnotes.testing` has a suite for all of it.

Every method takes the tenant first; a foreign id is an id that does not exist.
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
from footnotes.store.records import Generation, Verification
from footnotes.store.sources import Sources
from footnotes.store.vectors import Vectors
from footnotes.store.views import SearchView
from footnotes.types import ErrorInfo, IndexState


class Store(Protocol):
    """The truth of many tenants, and both legs of their searches."""

    kind: str
    folder: Path
    originals: Originals
    documents: Documents
    vectors: Vectors
    generations: Generations
    collections: Collections
    jobs: Jobs
    conversations: Conversations

    @property
    def address(self) -> str:
        """Where it is, as it may be shown to anybody."""
        ...

    def close(self) -> None: ...

    # ── holding it

    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> AbstractContextManager[None]:
        """Hold a tenant's library for writing. What an earlier writer left unfinished is put right first."""
        ...

    def incoming(self, user_id: str) -> Path:
        """A folder for bytes on their way in, for the writer; emptied when they have written."""
        ...

    def recover_if_idle(self, user_id: str) -> None:
        """Put right what dead writers left, where it is in nobody's way."""
        ...

    # ── searching

    def view(self, user_id: str, generation: int | None = None) -> SearchView:
        """What a search sees: the generation that serves, or another one as searches would see it."""
        ...

    def refresh(self, user_id: str) -> None:
        """See what other processes wrote, beside searches: from now on they do not look for themselves."""
        ...

    # ── what is known

    def users(self) -> list[str]: ...

    def size(self, user_id: str) -> int:
        """About how many bytes the tenant's library takes."""
        ...

    def sources(self, user_id: str, collection: str) -> Sources:
        """What is known of the sources of a collection."""
        ...

    def memories(self, user_id: str) -> Memories:
        """What models said of the tenant's texts."""
        ...

    # ── the legs

    def publish(self, user_id: str, generation: Generation) -> None:
        """Let searches see all that was saved: only now are documents ready."""
        ...

    def publish_behind(self, user_id: str, generation: Generation) -> None:
        """As `publish`, beside what the caller does meanwhile; see `publish_all`."""
        ...

    @property
    def is_indexing_behind(self) -> bool: ...

    def publish_all(self, user_id: str, generation: Generation) -> None:
        """Wait for what is being done behind, and publish everything."""
        ...

    def grow_graph_behind(self, user_id: str) -> None:
        """Improve the indexes beside everything else, when it is worth it."""
        ...

    def grow_graph(
        self, user_id: str, generation: Generation, progress: Callable[[int, int], None] | None = None
    ) -> bool:
        """Improve the indexes now, after what is being done behind."""
        ...

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; they wait in the log."""
        ...

    def index_state(self, user_id: str) -> IndexState | None:
        """How the vector database is doing that serves legs; None where there is none."""
        ...

    # ── checking and moving

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check everything of a tenant; with `repair`, mend what can be made again."""
        ...

    def compact(self, user_id: str, *, scrub: bool = False) -> None:
        """Give back the space of what was removed while others work on; with `scrub` leave no byte of it."""
        ...

    def copy_side(self, user_id: str) -> Side:
        """The tenant's library as one side of a copy to or from another store."""
        ...
