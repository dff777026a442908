"""What a store does. The stages above know nothing else of one; `footnotes.testing` has a suite for all of it.

Every method takes the tenant first; a foreign id is an id that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from footnotes.store.copying import Side
from footnotes.store.memories import Memories
from footnotes.store.originals import Originals
from footnotes.store.records import (
    DocumentRow,
    Draft,
    Generation,
    JobUpdate,
    Known,
    NewChunk,
    NewJob,
    Origin,
    StoredInput,
    Verification,
)
from footnotes.store.views import SearchView
from footnotes.types import (
    Chunk,
    Document,
    DocumentStatus,
    ErrorInfo,
    Filter,
    IndexState,
    Job,
    Metadata,
    NearDuplicate,
    Part,
)


class Origins(Protocol):
    """What is known of the sources of one tenant's collection: how they looked when they were read, where they went."""

    def below(self, prefix: str) -> dict[str, Known]:
        """Every known source whose name begins with the prefix."""
        ...

    def version(self, source: str) -> tuple[str | None, str | None]:
        """The entity tag and the date a server gave when the source was fetched last."""
        ...

    def note(self, seen: Iterable[Origin], made_by: str) -> None:
        """Remember how sources looked."""
        ...

    def move(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Let documents follow their files, all at once, so that two may also change places.

        The keys are the sources before; the values the sources and the file names after.
        """
        ...

    def forget(self, sources: Sequence[str]) -> None:
        """Sources that lead nowhere any more. A document goes with its last one, else it is known by another."""
        ...

    def mend_names(self, changed: Collection[str]) -> None:
        """Name documents by a source they still have; one whose last source has other content now goes."""
        ...


class Store(Protocol):
    """The truth of many tenants, and both legs of their searches."""

    kind: str
    folder: Path
    originals: Originals

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
        """A folder for bytes on their way in, for whoever is writing; emptied when they have written."""
        ...

    def recover_if_idle(self, user_id: str) -> None:
        """Put right what dead writers left, where it is in nobody's way."""
        ...

    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """Whether another living writer is at a document."""
        ...

    def await_settled(self, user_id: str, pk: int) -> None:
        """Wait until no other living writer is at a document."""
        ...

    # ── searching

    def view(self, user_id: str) -> SearchView: ...

    def view_of(self, user_id: str, generation: int) -> SearchView:
        """A generation that does not serve, as searches would see it."""
        ...

    def look_again(self, user_id: str) -> None:
        """See what other processes wrote, beside searches: from now on they do not look for themselves."""
        ...

    def serving(self, user_id: str) -> Generation | None: ...

    # ── reading

    def users(self) -> list[str]: ...

    def size(self, user_id: str) -> int:
        """About how many bytes the tenant's library takes."""
        ...

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id; `NotFound` where there is none."""
        ...

    def find_by_hash(self, user_id: str, collection: str, file_hash: str) -> DocumentRow | None: ...

    def find_by_source(self, user_id: str, collection: str, source: str) -> DocumentRow | None: ...

    def documents(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Documents in the order they came, those that pass the filter."""
        ...

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        ...

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """The parts of a document as its parser gave them, one at a time: a document may be larger than memory."""
        ...

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]: ...

    def neighbours(self, user_id: str, document_id: str, first: int, last: int) -> list[Chunk]: ...

    def sources(self, user_id: str, document_id: str) -> list[str]: ...

    def memories(self, user_id: str) -> Memories:
        """What models said of the tenant's texts."""
        ...

    def origins(self, user_id: str, collection: str) -> Origins: ...

    def collections(self, user_id: str) -> list[dict[str, Any]]: ...

    def near_duplicates(self, user_id: str) -> dict[str, NearDuplicate]:
        """Every document that nearly equals another, by its id."""
        ...

    def counts(self, user_id: str) -> dict[str, Any]: ...

    def generations(self, user_id: str) -> list[Generation]: ...

    # ── writing

    def ensure_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """The generation that serves; made when the tenant has none."""
        ...

    def missing_vectors(self, user_id: str, generation: Generation, hashes: Iterable[bytes]) -> list[bytes]:
        """Which inputs have not been embedded by the generation's model yet, each once, in order."""
        ...

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None: ...

    def save(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, and replace the version before them."""
        ...

    def discard(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""
        ...

    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """The same bytes came again: remember the source, and take its metadata over."""
        ...

    def forget_source(self, user_id: str, collection: str, source: str) -> None:
        """A source no longer leads anywhere; its document goes when it was the last one."""
        ...

    def set_collection(
        self,
        user_id: str,
        name: str,
        *,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
    ) -> None: ...

    def drop_collection(self, user_id: str, name: str) -> None:
        """Forget a collection that has no documents: its name, its prompt, and what was known of its sources."""
        ...

    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, entries in both indexes."""
        ...

    # ── vectors that follow

    def waiting(self, user_id: str) -> list[int]:
        """Documents that are found by their words and wait for their vectors, oldest first."""
        ...

    def claim_waiting(self, user_id: str) -> list[int]:
        """Some or all of those that wait and that nobody else is at: they are the caller's to embed now."""
        ...

    def waiting_chunks(self, user_id: str) -> int: ...

    def inputs_without_vector(
        self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int
    ) -> list[StoredInput]:
        """What is still to be embedded of a document, in order, beginning after a chunk."""
        ...

    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Say of the documents that wait whether somebody is at it, and if not, why."""
        ...

    def finish_waiting(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """All vectors of these documents are saved: they become ready."""
        ...

    # ── the journal

    def jobs(self, user_id: str) -> list[Job]:
        """What was begun and has not been forgotten, oldest first."""
        ...

    def make_jobs(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]: ...

    def take_jobs(self, user_id: str, numbers: Sequence[int], holder: str) -> None: ...

    def update_jobs(self, user_id: str, updates: Sequence[JobUpdate]) -> None: ...

    def let_go_jobs(self, user_id: str) -> None:
        """The caller is not at its jobs any more, and neither is whoever died."""
        ...

    # ── generations

    def begin_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """A generation to build. One that was begun with the same plan is gone on with; others are dropped."""
        ...

    def documents_to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Documents that are not complete in a generation yet."""
        ...

    def save_reindexed(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[NewChunk], version: str
    ) -> None:
        """The chunks of a document in a generation that does not serve yet, in one transaction."""
        ...

    def switch_generation(
        self, user_id: str, to: Generation, *, keep: bool, choices: Mapping[str, Sequence[str | None]]
    ) -> bool:
        """Serve a generation, made by these choices. One that served may be kept, others go.

        Says no, and does nothing, when documents have come that it lacks.
        """
        ...

    def remember_choices(self, user_id: str) -> None:
        """Write down which chunkers the generation that serves was made with, so that a rollback can restore them."""
        ...

    def kept_choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The choices of chunkers by which the kept generation was made; those of now where it does not say."""
        ...

    def choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The chunker and its options chosen for every collection."""
        ...

    # ── indexes

    def publish_changes(self, user_id: str, generation: Generation) -> None:
        """Let searches see all that was saved: only now are documents ready."""
        ...

    def publish_behind(self, user_id: str, generation: Generation) -> None:
        """As `publish_changes`, beside what the caller does meanwhile; see `publish_all`."""
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

    # ── checking

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check everything of a tenant; with `repair`, mend what can be made anew."""
        ...

    def compact(self, user_id: str) -> None:
        """Leave no byte of what was removed."""
        ...

    # ── moving

    def copy_side(self, user_id: str) -> Side:
        """The tenant's library as one side of a copy to or from another store."""
        ...
