"""A store for many servers and workers: PostgreSQL with pgvector, or the compatible AlloyDB.

Both legs search tables, so committed data is found at once. Any number of writers may work; see `writers`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import FootnotesError, StoreLocked, StoreReadOnly, StoreUnavailable
from footnotes.index.remote import VectorDatabase
from footnotes.settings import Settings
from footnotes.store import generations, recovery
from footnotes.store.base import BaseStore
from footnotes.store.database import Cursor
from footnotes.store.files import Files, FolderFiles, files_of
from footnotes.store.make import redacted
from footnotes.store.originals import FOLDER, Originals
from footnotes.store.postgres import chunks, saving, schema, statistics, upkeep
from footnotes.store.postgres.change_feed import PostgresChangeFeed
from footnotes.store.postgres.chunks import Where
from footnotes.store.postgres.claiming import claim
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Database
from footnotes.store.postgres.indexes import DenseOptions, Indexes, dense_options
from footnotes.store.postgres.remote_legs import RemoteLegs
from footnotes.store.postgres.view import PostgresSearchView, Served
from footnotes.store.postgres.writers import Writers
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation, Problem
from footnotes.store.remote_keeper import RemoteKeeper, vector_database
from footnotes.store.retry import retry, retrying
from footnotes.store.rows import generation_row
from footnotes.store.texts import SpanReader
from footnotes.types import DenseIndex

INCOMING = "incoming"


class PostgresStore(BaseStore):
    """The store of many machines. Every method takes the tenant first; another tenant's id counts as unknown."""

    kind = "postgresql"
    stores_terms = True
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
        with_metadata: bool = True,
        read_only: bool = False,
        primary: str = "",
        dense: DenseOptions | None = None,
    ) -> None:
        super().__init__()
        self.read_only, self._primary = read_only, primary
        self.folder = folder
        self.address = redacted(address)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the folder {folder} cannot be made ({error.strerror})") from error
        options = dense or DenseOptions()
        self.database = Database(address, remote=vectors is not None, read_only=read_only, options=options.session)
        self._indexes = Indexes(self.database, options)
        try:
            if migrate and not read_only:
                schema.migrate(self.database)
            schema.check(self.database)
            self._indexes.check()
            self.database.open()
        except BaseException:
            self.database.close()
            raise
        self._writers = Writers(self.database, folder / INCOMING)
        self.originals = Originals(files or FolderFiles(folder / FOLDER), self.database, self.holder)
        self.remote = None if vectors is None else self._make_remote(vectors, legs, with_metadata)
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
            with_metadata=settings.index_metadata,
            read_only=settings.read_only,
            primary=settings.primary,
            dense=dense_options(settings.dense_index, settings.dense_index_options),
        )

    def _make_remote(self, vectors: VectorDatabase, legs: Sequence[str], with_metadata: bool) -> RemoteKeeper:
        with self.database.read("") as cursor:
            library = str(cursor.value("library_id"))
        feed = PostgresChangeFeed(self.database, library, vectors.address, legs, with_metadata=with_metadata)
        return RemoteKeeper(vectors, legs, library, feed)

    @classmethod
    def migrated(cls, settings: Settings) -> tuple[list[int], int]:
        """Migrate the schema. Return the applied numbers and the current version."""
        database = Database(settings.store)
        try:
            return schema.migrate(database), schema.version(database)
        finally:
            database.close()

    @classmethod
    def repaired(cls, settings: Settings) -> list[str]:
        """Recreate lost roles, grants, policies and functions; return what was lost."""
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

    # ── locking

    @contextmanager
    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Become a writer of a tenant's library, beside others. First recovers what dead writers left unfinished."""
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
        """Recover from dead writers, without disturbing live ones."""
        with suppress(FootnotesError):
            if recovery.is_unfinished(self.database, user_id):
                recovery.recover(self.database, user_id)

    def holder(self, user_id: str) -> int:
        """Return the number under which this thread writes; 0 if it does not."""
        return self._writers.number_if_any(user_id)

    def users(self) -> list[str]:
        with self.database.owning() as connection:  # a tenant's connection sees no other tenant
            return [row["user_id"] for row in PostgresCursor(connection, "").all("users")]

    def size(self, user_id: str) -> int:
        """Return the tenant's share of the tables, measured by its chunks, plus its files."""
        with self.database.read(user_id) as cursor:
            return upkeep.size(cursor) + super().size(user_id)

    # ── searching

    def view(self, user_id: str, generation: int | None = None) -> PostgresSearchView:
        """Return the view of a search: of the serving generation, or of another one as if it served."""
        if generation is not None:
            return self._view_of(user_id, generation)
        served = self._served.get(user_id)
        if served is None:
            served = self._served[user_id] = self._now_served(user_id)
        legs = self._remote_legs(served.generation)
        return PostgresSearchView(self.database, user_id, served, self._noticing(user_id), remote=legs)

    def _now_served(self, user_id: str) -> Served:
        """Return the serving generation, the last change, and the number of documents waiting for vectors."""
        with self.database.read(user_id) as cursor:
            row = cursor.one("served")
        if row is None:
            return Served(None)
        return Served(generation_row(row), row["changed"], row["waiting"], row["reached"] or 0)

    def _remote_legs(self, generation: Generation | None) -> RemoteLegs | None:
        if self.remote is None or generation is None:
            return None
        if not self.read_only:
            self.remote.note(generation)  # the database may be new for an old library
        return RemoteLegs(self.database, self.remote, generation)

    def _noticing(self, user_id: str) -> Callable[[int | None, Served], None]:
        """Return a function by which a search reports what it saw, as a start for the next one."""

        def notice(serving: int | None, seen: Served) -> None:
            known = self._served.get(user_id)
            if known is not None and serving == (known.generation.pk if known.generation else None):
                self._served[user_id] = replace(seen, generation=known.generation)
            else:
                self._served.pop(user_id, None)

        return notice

    def _view_of(self, user_id: str, generation: int) -> PostgresSearchView:
        """Return the view of a generation that does not serve, as if it did."""
        with self.database.read(user_id) as cursor:
            found = generations.get(cursor, generation)
        if self.remote is not None:
            self.remote.catch_up(found)
        legs = self._remote_legs(found)
        return PostgresSearchView(self.database, user_id, Served(found), lambda *_: None, remote=legs, trial=True)

    def refresh(self, user_id: str) -> None:
        """Do nothing: searches ask the database, so they see other processes' writes."""

    # ── writing

    def kept_vectors(self, generation: Generation) -> Container[bytes]:
        return self._writers.vectors(generation.user_id, generation.model)

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Give vectors to the chunks that wait for them; keep those of later chunks until these are written."""
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
        holder = self._writers.number(user_id)
        claim(self.database, user_id, holder, [draft for draft in drafts if draft.handle is None])
        mine = [draft for draft in drafts if draft.handle is not None]
        if sound := [draft for draft in mine if draft.error is None]:
            vectors = self._writers.vectors(user_id, generation.model)
            saving.save(self.database, user_id, holder, generation, sound, vectors.get)
        if failed := [draft for draft in mine if draft.error is not None]:
            saving.discard_failed(self.database, user_id, holder, failed)

    def hold_generations(self, user_id: str) -> None:
        """Lock the building of generations for a tenant until this writer ends."""
        self._writers.number(user_id)
        if not self._writers.hold_generations(user_id):
            raise StoreLocked("another writer is indexing the library again")

    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, drafts: Sequence[ChunkDraft], version: str
    ) -> None:
        """Write a document's chunks in a generation that does not serve yet, in one transaction."""
        vectors = self._writers.vectors(user_id, generation.model)
        saving.save_reindexed(self.database, user_id, generation, row, drafts, version, vectors.get)
        vectors.clear()

    # ── how the legs follow

    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Update a vector database and kept files; both legs read tables and need no update."""
        self._bring_serving(user_id)
        if removed:
            self.originals.sweep(user_id)

    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """Rewrite the terms of a document's chunks, in every generation, after its title or file name changed."""
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
        drafts: Sequence[ChunkDraft],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the published version, with vectors in half precision if there are any."""
        assert row.current is not None and isinstance(cursor, PostgresCursor)
        names = chunks.Named(row.document.title, row.document.filename)
        rows = list(chunks.analyzed(drafts, SpanReader(cursor, row.current).read, names))
        averages = chunks.averages_in(cursor, generation.pk, rows)
        where = Where(generation.pk, row.pk, row.document.id, row.current)
        chunks.put(cursor, generation.model, [(where, each) for each in rows], averages, chunks.half_of(vectors))

    def finish_copy(self, user_id: str) -> None:
        self.grow_graph(user_id)

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
    def publish(self, user_id: str, generation: Generation, *, behind: bool = False) -> None:
        """Mark complete documents as ready; searches find committed data already, so nothing is left to do `behind`.

        A vector database that serves a leg is updated first; documents that it lacks are not ready.
        """
        self._bring(generation)
        with self.database.write(user_id) as cursor:
            if cursor.run("mark_ready", holder=self.holder(user_id)):
                cursor.run("bump")

    def grow_graph(
        self, user_id: str, progress: Callable[[int, int], None] | None = None, *, behind: bool = False
    ) -> None:
        """Build the dense index and fold statistics, if worthwhile: now, or in a background thread."""
        generation = self.generations.serving(user_id)
        with self._guard:
            grower = self._grower
            if generation is None or (behind and grower is not None and grower.is_alive()):
                return
            if behind:
                self._grower = threading.Thread(target=self._grow_quietly, args=(generation,), name="footnotes-upkeep")
                self._grower.start()
                return
        if grower is not None:
            grower.join()
        self._grow(generation)

    def _grow_quietly(self, generation: Generation) -> None:
        with suppress(FootnotesError):  # a failed improvement must not fail anything else
            self._grow(generation)

    def _grow(self, generation: Generation) -> None:
        legs = frozenset() if self.remote is None else self.remote.legs
        self._indexes.grow(generation, dense="dense" not in legs)
        if "lexical" in legs:
            self._bring(generation)  # the weights may have been recomputed

    def _bring_serving(self, user_id: str) -> None:
        """Update a vector database, if there is one, with the changes in the serving generation."""
        if self.remote is not None and (generation := self.generations.serving(user_id)) is not None:
            self.remote.attempt_soon(generation)

    def _bring_what_is_missing(self, user_id: str) -> None:
        if self.remote is not None and (generation := self.generations.serving(user_id)) is not None:
            self.remote.note(generation)
            self.remote.fill_missing(generation)

    def _bring(self, generation: Generation) -> None:
        if self.remote is not None:
            self.remote.attempt(generation)

    def dense_index(self, generation: Generation | None) -> DenseIndex | None:
        """Return the index of a generation's vectors; None if a vector database holds them."""
        if generation is None or (self.remote is not None and "dense" in self.remote.legs):
            return None
        return self._indexes.state(generation)

    # ── checking

    def check_database(self, user_id: str) -> Iterator[Problem]:
        """Yield nothing: the server checks its own pages."""
        return iter(())

    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """Check that term statistics equal the counts in published chunks."""
        with self.database.read(generation.user_id) as cursor:
            wrong = cursor.value("wrong_statistics", generation=generation.pk)
        if wrong:
            yield Problem(f"the statistics of {wrong} terms do not match the chunks", mendable=True)

    def rebuild_legs(self, generation: Generation) -> list[str]:
        with self.changing(generation.user_id) as cursor:
            statistics.recount(cursor, generation.pk)
        return ["statistics: counted again"]

    def compact(self, user_id: str, *, scrub: bool = False) -> None:
        """Free the space of removed rows; with `scrub`, purge them from all tables and indexes.

        The server's log and backups belong to its owner.
        """
        with self.changing(user_id) as cursor:
            for generation in generations.listed(cursor):
                cursor.run("fold_terms", generation=generation.pk)
        with self.database.owning() as connection:
            upkeep.vacuum(connection, rewrites=scrub)
        if self.remote is not None:
            for generation in self.generations.all(user_id):
                self.remote.compact(generation)
