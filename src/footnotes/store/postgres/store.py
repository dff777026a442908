"""Many servers and workers, one truth: a store in PostgreSQL with pgvector, or AlloyDB, which speaks the same.

Both legs search tables of the database, so that what is committed is found. Any number write at once; see `writers`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import FootnotesError, StoreLocked, StoreReadOnly, StoreUnavailable
from footnotes.index.remote import VectorDatabase
from footnotes.settings import Settings
from footnotes.store import documents, generations, recovery
from footnotes.store.address import redacted
from footnotes.store.base import BaseStore
from footnotes.store.chunks import missing_vectors
from footnotes.store.database import Cursor
from footnotes.store.files import Files, FolderFiles, files_of
from footnotes.store.originals import FOLDER, Originals
from footnotes.store.postgres import chunks, saving, schema, statistics, upkeep
from footnotes.store.postgres.change_feed import PostgresChangeFeed
from footnotes.store.postgres.chunks import Where
from footnotes.store.postgres.claiming import claim
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Database
from footnotes.store.postgres.indexes import Indexes
from footnotes.store.postgres.remote_legs import RemoteLegs
from footnotes.store.postgres.view import PostgresSearchView, Served
from footnotes.store.postgres.writers import Writers
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation, Problem
from footnotes.store.remote_keeper import RemoteKeeper, vector_database
from footnotes.store.retry import retry, retrying
from footnotes.store.rows import generation_row
from footnotes.store.texts import SpanReader
from footnotes.types import ErrorInfo

INCOMING = "incoming"


class PostgresStore(BaseStore):
    """The store of many machines. Every method takes the tenant first; a foreign id is an id that does not exist."""

    kind = "postgresql"
    database: Database
    whole = saving.WHOLE

    def __init__(
        self,
        address: str,
        folder: Path,
        *,
        migrate: bool = True,
        files: Files | None = None,
        vectors: VectorDatabase | None = None,
        legs: Sequence[str] = ("dense",),
        tells: bool = True,
        read_only: bool = False,
        primary: str = "",
    ) -> None:
        super().__init__()
        self.read_only, self._primary = read_only, primary
        self.folder = folder
        self.address = redacted(address)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the folder {folder} cannot be made ({error.strerror})") from error
        self.database = Database(address, remote=vectors is not None, read_only=read_only)
        try:
            if migrate and not read_only:
                schema.migrate(self.database)
            schema.check(self.database)
            self.database.open()
        except BaseException:
            self.database.close()
            raise
        self._writers = Writers(self.database, folder / INCOMING)
        self._indexes = Indexes(self.database)
        self.originals = Originals(files or FolderFiles(folder / FOLDER), self.database, self.holder)
        self.remote = None if vectors is None else self._make_remote(vectors, legs, tells)
        self._served: dict[str, Served] = {}
        self._grower: threading.Thread | None = None
        self._guard = threading.Lock()

    @classmethod
    def opened(cls, settings: Settings, folder: Path) -> PostgresStore:
        return cls(
            settings.store,
            folder,
            migrate=settings.migrate,
            files=files_of(settings.originals, folder),
            vectors=vector_database(settings),
            legs=settings.index_legs,
            tells=settings.index_metadata,
            read_only=settings.read_only,
            primary=settings.primary,
        )

    def _make_remote(self, vectors: VectorDatabase, legs: Sequence[str], tells: bool) -> RemoteKeeper:
        with self.database.read("") as cursor:
            library = str(cursor.value("library_id"))
        feed = PostgresChangeFeed(self.database, library, vectors.address, legs, tells=tells)
        return RemoteKeeper(vectors, legs, library, feed)

    @classmethod
    def migrated(cls, settings: Settings) -> tuple[list[int], int]:
        """Bring the schema of the database up to date. What was applied, and what it has now."""
        database = Database(settings.store)
        try:
            return schema.migrate(database), schema.version(database)
        finally:
            database.close()

    @classmethod
    def repaired(cls, settings: Settings) -> list[str]:
        """Make roles, grants, policies and functions again; what of them was lost."""
        database = Database(settings.store)
        try:
            return schema.repair(database)
        finally:
            database.close()

    def close(self) -> None:
        grower = self._grower
        if grower is not None:
            grower.join()
        if self.remote is not None:
            self.remote.close()
        self._writers.close()
        self.database.close()

    # ── holding it

    @contextmanager
    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Be a writer of a tenant's library, beside others. What dead ones left unfinished is put right first."""
        if self.read_only:
            raise StoreReadOnly.refer(self._primary)
        with self._writers.writing(user_id) as writer:
            if writer.depth == 1:
                self.originals.sweep(user_id)
                self._bring_what_is_missing(user_id)
            yield

    def incoming(self, user_id: str) -> Path:
        return self._writers.incoming(user_id)

    def recover_if_idle(self, user_id: str) -> None:
        """Put right what dead writers left. Living ones are not disturbed."""
        with suppress(FootnotesError):
            if recovery.is_unfinished(self.database, user_id):
                recovery.recover(self.database, user_id)

    def holder(self, user_id: str) -> int:
        """The number under which this thread writes; 0, which is nobody's, where it does not."""
        return self._writers.number_if_any(user_id)

    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """Whether another living writer is at a document."""
        with self.database.read(user_id) as cursor:
            return cursor.value("is_held_elsewhere", holder=self.holder(user_id), document=pk) is not None

    def users(self) -> list[str]:
        with self.database.owning() as connection:  # a tenant's connection sees no other
            return [row["user_id"] for row in PostgresCursor(connection, "").all("users")]

    def size(self, user_id: str) -> int:
        """The tenant's share of the tables, by its chunks, and what it has in the folder."""
        with self.database.read(user_id) as cursor:
            return upkeep.size(cursor) + super().size(user_id)

    # ── searching

    def view(self, user_id: str, generation: int | None = None) -> PostgresSearchView:
        """What a search sees: the generation that serves, or another one as searches would see it."""
        if generation is not None:
            return self._view_of(user_id, generation)
        served = self._served.get(user_id)
        if served is None:
            served = self._served[user_id] = self._now_served(user_id)
        legs = self._outside_legs(served.generation)
        return PostgresSearchView(self.database, user_id, served, self._noticing(user_id), remote=legs)

    def _now_served(self, user_id: str) -> Served:
        """The generation searches use, the last change, and how many documents wait for vectors."""
        with self.database.read(user_id) as cursor:
            row = cursor.one("served")
        if row is None:
            return Served(None)
        return Served(generation_row(row), row["changed"], row["waiting"], row["reached"] or 0)

    def _outside_legs(self, generation: Generation | None) -> RemoteLegs | None:
        if self.remote is None or generation is None:
            return None
        if not self.read_only:
            self.remote.note(generation)  # it may have been chosen after the library was made
        return RemoteLegs(self.database, self.remote, generation)

    def _noticing(self, user_id: str) -> Callable[[int | None, Served], None]:
        """What a search saw of what serves now is what the next one begins with."""

        def notice(serving: int | None, seen: Served) -> None:
            known = self._served.get(user_id)
            if known is not None and serving == (known.generation.pk if known.generation else None):
                self._served[user_id] = replace(seen, generation=known.generation)
            else:
                self._served.pop(user_id, None)

        return notice

    def _view_of(self, user_id: str, generation: int) -> PostgresSearchView:
        """A generation that does not serve, as searches would see it."""
        found = self.generations.find(user_id, generation)
        if self.remote is not None:
            self.remote.catch_up(found)
        legs = self._outside_legs(found)
        return PostgresSearchView(self.database, user_id, Served(found), lambda *_: None, remote=legs, trial=True)

    def refresh(self, user_id: str) -> None:
        """Searches ask the database: they see what others wrote without being told."""

    # ── writing

    def missing_vectors(self, user_id: str, generation: Generation, hashes: Sequence[bytes]) -> list[bytes]:
        made = self._writers.vectors(user_id, generation.model)
        with self.database.read(user_id) as cursor:
            missing = missing_vectors(cursor, generation.model, hashes)
        return [value for value in missing if value not in made]

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Give vectors to the chunks that wait for them; those of chunks to come are kept until they are written."""
        self._writers.number(user_id)
        halves = chunks.as_halves(generation, vectors)

        def attempt() -> set[bytes]:
            inputs = {"model": generation.model, "hashes": list(hashes)}
            with self.database.write(user_id) as cursor:
                cursor.run("save_vectors", **inputs, vectors=halves)
                return {row["input_hash"] for row in cursor.all("inputs_known", **inputs)}

        known = retry(attempt)
        kept = self._writers.vectors(user_id, generation.model)
        kept.update((key, half) for key, half in zip(hashes, halves, strict=True) if key not in known)

    def save_drafts(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, and replace the version before them.

        A draft whose document another living writer is at is not written, and says so.
        """
        holder = self._writers.number(user_id)
        claim(self.database, user_id, holder, [draft for draft in drafts if draft.handle is None])
        if mine := [draft for draft in drafts if draft.handle is not None]:
            vectors = self._writers.vectors(user_id, generation.model)
            saving.save(self.database, user_id, holder, generation, mine, vectors.get)
        for draft in drafts:
            draft.parts, draft.chunks = [], []

    @retrying
    def discard_draft(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""
        holder = self._writers.number(user_id)
        if draft.handle is None:
            claim(self.database, user_id, holder, [draft])
        if draft.handle is None:
            return  # another writer has the same bytes: what becomes of them is for it to say
        with self.database.write(user_id) as cursor:
            documents.set_failed(cursor, draft.handle.pk, error)
            saving.discard(cursor, holder, draft.handle)

    def hold_generations(self, user_id: str) -> None:
        """Be the only one to build generations for a tenant, until this writer ends."""
        self._writers.number(user_id)
        if not self._writers.hold_generations(user_id):
            raise StoreLocked("another writer is indexing the library again")

    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[ChunkDraft], version: str
    ) -> None:
        """The chunks of a document in a generation that does not serve yet, in one transaction."""
        vectors = self._writers.vectors(user_id, generation.model)
        saving.save_reindexed(self.database, user_id, generation, row, made, version, vectors.get)
        vectors.clear()

    # ── how the legs follow

    def job_holder(self, user_id: str, label: str) -> str:
        """The number others know the writer by, and what people call it."""
        return f"{self._writers.number(user_id)} {label}"

    @contextmanager
    def changing(self, user_id: str) -> Iterator[Cursor]:
        """A transaction that changes what searches see. No generation begins to serve meanwhile."""
        with self.database.write(user_id) as cursor:
            cursor.run("share_tenant")
            yield cursor
            cursor.run("bump")

    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Both legs read tables: only a vector database and kept files are to follow."""
        self._bring_serving(user_id)
        if removed:
            self.originals.sweep(user_id)

    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """A document has another title or file name: its chunks are found by other terms, in every generation."""
        if row.current is None:
            return
        cursor.run("note_removal", versions=[row.current])
        chunks.rewrite_words(cursor, row.current, chunks.Named(row.document.title, row.document.filename))
        for found in cursor.all("generations_of_version", version=row.current):
            cursor.run("note_chunks", generation=found["generation"], versions=[row.current])

    def put_chunks(
        self,
        cursor: Cursor,
        generation: Generation,
        row: DocumentRow,
        made: Sequence[ChunkDraft],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the version that is served, with vectors in half precision where there are any."""
        assert row.current is not None
        named = chunks.Named(row.document.title, row.document.filename)
        rows = chunks.analyzed(made, SpanReader(cursor, row.current).read, named)
        averages = chunks.averages_in(cursor, generation.pk, rows)
        where = Where(generation.pk, row.pk, row.document.id, row.current)
        chunks.put(cursor, generation.model, [(where, each) for each in rows], averages, chunks.half_of(vectors))

    def finish_copy(self, user_id: str) -> None:
        if serving := self.generations.serving(user_id):
            self.grow_graph(user_id, serving)

    def own_tenant(self, cursor: Cursor) -> None:
        cursor.run("own_tenant")

    def prepare_legs(self, generation: Generation) -> int:
        """Build the dense index, and fill a vector database."""
        self._grow(generation)
        return 0 if self.remote is None else self.remote.catch_up(generation)

    def drop_legs(self, generation: Generation) -> None:
        self._indexes.drop(generation)
        if self.remote is not None:
            self.remote.drop(generation)

    # ── indexes

    @retrying
    def publish(self, user_id: str, generation: Generation) -> None:
        """What is committed is found already: the documents that lack nothing are ready.

        Where a vector database serves, it is brought what came; those it has not got yet are not ready.
        """
        self._bring(generation)
        with self.database.write(user_id) as cursor:
            if cursor.run("mark_ready", holder=self.holder(user_id)):
                cursor.run("bump")

    def publish_behind(self, user_id: str, generation: Generation) -> None:
        self.publish(user_id, generation)

    @property
    def is_indexing_behind(self) -> bool:
        return False

    def publish_all(self, user_id: str, generation: Generation) -> None:
        self.publish(user_id, generation)

    def grow_graph_behind(self, user_id: str) -> None:
        """Build the dense index and fold statistics in a thread of its own, when it is worth it."""
        generation = self.generations.serving(user_id)
        with self._guard:
            if generation is None or (self._grower is not None and self._grower.is_alive()):
                return
            work = threading.Thread(target=self._grow_quietly, args=(generation,), name="footnotes-upkeep")
            self._grower = work
            work.start()

    def _grow_quietly(self, generation: Generation) -> None:
        with suppress(FootnotesError):  # what could not be improved is no failure of anything else
            self._grow(generation)

    def _grow(self, generation: Generation) -> bool:
        legs = frozenset() if self.remote is None else self.remote.legs
        grown = self._indexes.grow(generation, dense="dense" not in legs)
        if "lexical" in legs:
            self._bring(generation)  # words may have been weighed again
        return grown

    def _bring_serving(self, user_id: str) -> None:
        """What changed in the generation that serves is brought to a vector database, if there is one."""
        if self.remote is not None and (generation := self.generations.serving(user_id)) is not None:
            self.remote.attempt_soon(generation)

    def _bring_what_is_missing(self, user_id: str) -> None:
        if self.remote is not None and (generation := self.generations.serving(user_id)) is not None:
            self.remote.note(generation)
            self.remote.fill_missing(generation)

    def _bring(self, generation: Generation) -> None:
        if self.remote is not None:
            self.remote.attempt(generation)

    def grow_graph(
        self, user_id: str, generation: Generation, progress: Callable[[int, int], None] | None = None
    ) -> bool:
        """Build the dense index now, if the generation is large enough for one."""
        grower = self._grower
        if grower is not None:
            grower.join()
        return self._grow(generation)

    # ── checking

    def check_database(self, user_id: str) -> Iterator[Problem]:
        """The server checks its own pages."""
        return iter(())

    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """What is known of terms is what the chunks that are served say."""
        with self.database.read(generation.user_id) as cursor:
            wrong = cursor.value("wrong_statistics", generation=generation.pk)
        if wrong:
            yield Problem(f"the statistics of {wrong} terms do not match the chunks", mendable=True)

    def rebuild_legs(self, generation: Generation) -> list[str]:
        with self.changing(generation.user_id) as cursor:
            statistics.recount(cursor, generation.pk)
        return ["statistics: counted again"]

    def compact(self, user_id: str, *, scrub: bool = False) -> None:
        """Give the space of removed rows back; with `scrub` leave no byte of them in any table or index.

        The server's log and its backups are its own.
        """
        with self.changing(user_id) as cursor:
            for generation in generations.listed(cursor):
                cursor.run("fold_terms", generation=generation.pk)
        with self.database.owning() as connection:
            upkeep.vacuum(connection, rewrites=scrub)
        if self.remote is not None:
            for generation in self.generations.all(user_id):
                self.remote.compact(generation)
