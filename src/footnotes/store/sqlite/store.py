"""A library in a folder: SQLite holds the data, and the indexes beside it are caches.

library/
  footnotes.db            documents, text, chunks, vectors, the change log
  index/<tenant>/<generation>/lexical, dense
  files/<tenant>/<date>/  originals that are kept
  write.lock              who writes
"""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import NotALibrary, StoreCorrupt, StoreError, StoreUnavailable
from footnotes.index.remote import VectorDatabase
from footnotes.settings import Settings
from footnotes.store import generations, recovery
from footnotes.store.base import BaseStore
from footnotes.store.database import Cursor
from footnotes.store.files import FolderFiles, write_error
from footnotes.store.lock import FileLock
from footnotes.store.originals import FOLDER, Originals
from footnotes.store.records import ChunkDraft, DocumentRow, Draft, Generation, Problem
from footnotes.store.remote_keeper import RemoteKeeper, vector_database
from footnotes.store.sqlite import batch, chunks, saving, staging
from footnotes.store.sqlite.change_feed import SqliteChangeFeed
from footnotes.store.sqlite.connection import Database, migrate, schema_version
from footnotes.store.sqlite.indexer import Indexer
from footnotes.store.sqlite.indexes import Indexes, IndexPositions, loss_message
from footnotes.store.sqlite.view import Served, SqliteSearchView, served
from footnotes.store.sqlite.wal import check_present, mark, was_library
from footnotes.store.statements import migrations

DATABASE = "footnotes.db"
INCOMING = "incoming"


def is_library(folder: Path) -> bool:
    """Return whether a folder has, or had, a library; opening it tells its state."""
    return (folder / DATABASE).is_file() or was_library(folder)


class SqliteStore(BaseStore):
    """The embedded store. Every method takes the tenant first; another tenant's id counts as unknown."""

    kind = "sqlite"
    database: Database

    def __init__(
        self,
        folder: Path,
        *,
        lock_seconds: float = 10.0,
        vectors: VectorDatabase | None = None,
        legs: Sequence[str] = ("dense",),
        with_metadata: bool = True,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.address = str(folder)
        self._lock_seconds = lock_seconds
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the folder {folder} cannot be made ({error.strerror})") from error
        _keep_private(folder)
        self._lock = FileLock(folder / "write.lock")
        self._served = threading.local()
        self._seen_whole: set[str] = set()
        self._indexer = Indexer(folder)
        check_present(folder / DATABASE)
        self.database = Database(folder / DATABASE)
        self.originals = Originals(FolderFiles(folder / FOLDER), self.database, self.holder)
        try:
            migrate(self.database, migrations("footnotes.store.sqlite"))
            library = self._library_id()
            mark(folder, library)
            self.remote = None if vectors is None else self._make_remote(vectors, legs, library, with_metadata)
            self._indexes = Indexes(folder / "index", self.database, library, self.remote)
        except BaseException:
            self.database.close()
            raise

    @classmethod
    def opened(cls, settings: Settings, folder: Path) -> SqliteStore:
        vectors = vector_database(settings)
        return cls(
            folder,
            lock_seconds=settings.lock_seconds,
            vectors=vectors,
            legs=settings.index_legs,
            with_metadata=settings.index_metadata,
        )

    @classmethod
    def migrated(cls, folder: Path) -> tuple[list[int], int]:
        """Migrate the schema, as opening a library does too."""
        if not is_library(folder):
            raise NotALibrary(f"there is no library in {folder}")
        database = Database(folder / DATABASE)
        try:
            before = schema_version(database.writer)
            migrate(database, migrations("footnotes.store.sqlite"))
            now = schema_version(database.writer)
        finally:
            database.close()
        return [number for number, _ in migrations("footnotes.store.sqlite") if before < number <= now], now

    def close(self) -> None:
        self._indexer.close()
        self._indexes.close()
        self.database.close()

    @contextmanager
    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Hold the library for writing, for any tenant. First recovers what an earlier writer left unfinished."""
        with self._lock.held(seconds=self._lock_seconds if seconds is None else seconds, purpose=purpose):
            if not self._writing_nested():
                shutil.rmtree(self.folder / INCOMING, ignore_errors=True)
            self._recover()
            self._before_writing(user_id)
            try:
                yield
            finally:
                if not self._writing_nested():
                    shutil.rmtree(self.folder / INCOMING, ignore_errors=True)

    def incoming(self, user_id: str) -> Path:
        """Return a folder for incoming bytes, for the writer. Files of a dead process are removed first."""
        folder = self.folder / INCOMING
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise write_error(error, f"{folder} cannot be made") from error
        return folder

    def recover_if_idle(self, user_id: str) -> None:
        """Recover from a dead writer, unless another one is active. Losses are reported."""
        if generation := self.generations.serving(user_id):
            self._indexes.notice_losses(generation)
        but_indexing = self.remote is not None
        if not self.database.read_only and recovery.is_unfinished(self.database, user_id, but_indexing=but_indexing):
            # Reading must work on a full disk and beside a writer, so recovery is left to the next writer.
            with suppress(StoreError), self.writing(user_id, "recovering", seconds=0):
                pass

    def _recover(self) -> None:
        if not self._writing_nested() and recovery.is_unfinished(self.database, ""):
            for user_id in recovery.recover(self.database, ""):
                # An index that fails to update must not block every writer: `verify --repair` is one of them.
                with suppress(StoreError):
                    if generation := self.generations.serving(user_id):
                        self.publish(user_id, generation)
            self.originals.sweep("")

    def _before_writing(self, user_id: str) -> None:
        """Check once that no index is ahead of a restored library, and that no remote one lags."""
        if user_id in self._seen_whole:
            return
        for generation in self.generations.all(user_id):
            self._indexes.go_back(generation)
        if self.remote is not None and (serving := self.generations.serving(user_id)) is not None:
            self.remote.fill_missing(serving)
        self._seen_whole.add(user_id)

    def _writing_nested(self) -> bool:
        return self._lock.depth > 1

    def _make_remote(
        self, vectors: VectorDatabase, legs: Sequence[str], library: str, with_metadata: bool
    ) -> RemoteKeeper:
        feed = SqliteChangeFeed(self.database, self.folder, library, vectors.address, legs, with_metadata=with_metadata)
        return RemoteKeeper(vectors, legs, library, feed)

    def _library_id(self) -> str:
        with self.database.read("") as cursor:
            found = cursor.value("library_id")
        if found is None:
            with self.database.write("") as cursor:
                found = cursor.value("library_id")
                if found is None:
                    found = uuid.uuid4().hex
                    cursor.run("make_library", id=found)
        return str(found)

    # ── searching

    def view(self, user_id: str, generation: int | None = None) -> SqliteSearchView:
        """Return the view of a search: of the serving generation, or of another one as if it served."""
        if generation is not None:
            return self._view_of(user_id, generation)
        served = self._served_now(user_id)
        behind, legs = 0, frozenset[str]()
        if served.generation is not None and self.remote is not None:
            behind, legs = self.remote.behind(served.generation), self.remote.legs
        return SqliteSearchView(
            self.database,
            self._indexes,
            served,
            user_id,
            waiting=max(served.waiting, behind if "dense" in legs else 0),
            waiting_words=behind if "lexical" in legs else 0,
        )

    def refresh(self, user_id: str) -> None:
        """Reopen indexes changed by other processes, in parallel to searches, which then no longer do it themselves."""
        served = self._served_now(user_id)
        if served.generation is not None:
            self._indexes.refresh(served.generation, served.visible)

    def _served_now(self, user_id: str) -> Served:
        """Return the state for searches, read again only if the database has changed."""
        with self.database.read(user_id) as cursor:
            if self.database.reader.in_transaction:
                return served(cursor)
            version = cursor.value("data_version")
            known = self._served.__dict__.get(user_id)
            if known is None or known[0] != version:
                # Read after the version: a change in between shows as another version the next time.
                known = self._served.__dict__[user_id] = (version, served(cursor))
        found: Served = known[1]
        return found

    def _view_of(self, user_id: str, generation: int) -> SqliteSearchView:
        """Return the view of a generation that does not serve, as if it did."""
        with self.database.read(user_id) as cursor:
            found = generations.get(cursor, generation)
        seq = self._indexes.catch_up(found, strictly=True).own
        view = Served(found, visible=seq, last=seq)
        return SqliteSearchView(self.database, self._indexes, view, user_id, trial=True)

    # ── writing

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        with self.database.write(user_id) as cursor:
            chunks.put_vectors(cursor, generation, hashes, vectors)

    def save_drafts(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, or staged to replace another."""
        with self.database.write(user_id) as cursor:
            new = [draft for draft in drafts if batch.is_new(draft)]
            others = [draft for draft in drafts if not batch.is_new(draft)]
            if new:
                batch.save_new(cursor, generation, new)
            for draft in others:
                if draft.error is None:
                    saving.save(cursor, generation, draft)
                else:
                    saving.discard(cursor, draft, draft.error)

    def fill_generation(
        self, user_id: str, generation: Generation, row: DocumentRow, drafts: Sequence[ChunkDraft], version: str
    ) -> None:
        """Write a document's chunks in a generation that does not serve yet, in one transaction."""
        assert row.current is not None
        with self.database.write(user_id) as cursor:
            cursor.run("drop_chunks_of", generation=generation.pk, version=row.current)
            chunks.put(cursor, generation.pk, row.pk, row.current, drafts)
            cursor.run("note_chunks", generation=generation.pk, document=row.pk)
            generations.put_planned(cursor, generation.pk, row.pk, version, len(drafts))

    # ── how the indexes follow

    def holder(self, user_id: str) -> int:
        """Return 0: there is one writer at a time, and it needs no number."""
        return 0

    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Let the indexes follow, and purge removed data from them and from the write-ahead log."""
        generation = self.generations.serving(user_id)
        if generation is not None and not removed:
            self.publish(user_id, generation)
        elif generation is not None:
            reached = self._indexes.catch_up(generation, soon=True)
            if self._publish(user_id, generation, reached):
                self.publish(user_id, generation)
        if removed:
            self.originals.sweep("")
            self.database.checkpoint()

    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """Do nothing: the lexical index reads title and file name when it applies the change."""

    def put_chunks(
        self,
        cursor: Cursor,
        generation: Generation,
        row: DocumentRow,
        drafts: Sequence[ChunkDraft],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the published version, with vectors in half precision if there are any."""
        assert row.current is not None
        chunks.put(cursor, generation.pk, row.pk, row.current, drafts)
        chunks.put_halves(cursor, generation, vectors)

    def finish_copy(self, user_id: str) -> None:
        self.after_change(user_id, removed=False)

    def hold_generations(self, user_id: str) -> None:
        """Do nothing: this is the only writer."""

    def prepare_legs(self, generation: Generation) -> int:
        seq = self._indexes.catch_up(generation, strictly=True).own
        self._indexes.grow_graph(generation)
        return seq

    def drop_legs(self, generation: Generation) -> None:
        self._indexes.drop(generation)

    # ── indexes

    def publish(self, user_id: str, generation: Generation, *, behind: bool = False) -> None:
        """Update both indexes, then let searches expect the changes; only then are documents ready.

        With `behind`, another process indexes the terms, and this publishes what it has finished.
        """
        if behind and self._indexes.serves_words() and not self._has_staged():
            self._publish_behind(user_id, generation)
            return
        self._publish_now(user_id, generation)
        if not behind:
            self._indexer.close()

    def _publish_now(self, user_id: str, generation: Generation) -> None:
        self._indexer.answered(wait=True)
        if self._publish(user_id, generation, self._indexes.catch_up(generation)):
            # Old versions are no longer shown, so the indexes may drop them now.
            self._publish(user_id, generation, self._indexes.catch_up(generation))

    def _publish(self, user_id: str, generation: Generation, reached: IndexPositions) -> bool:
        """Show what the indexes have, in one step. Return whether versions were replaced."""
        with self.database.write(user_id) as cursor:
            replaced = staging.show(cursor, generation, reached.own)
            cursor.run("mark_ready", generation=generation.pk, seq=reached.all)
            cursor.run("set_visible", seq=reached.own)
            return replaced

    def _publish_behind(self, user_id: str, generation: Generation) -> None:
        if not self._indexer.answered(wait=False):
            return
        self._publish(user_id, generation, self._indexes.seen(generation))
        if not self._indexer.ask(generation):
            self._publish_now(user_id, generation)

    def _has_staged(self) -> bool:
        with self.database.read("") as cursor:
            return cursor.value("any_staged") is not None

    def grow_graph(
        self, user_id: str, progress: Callable[[int, int], None] | None = None, *, behind: bool = False
    ) -> None:
        """Improve the dense index in the background, or both indexes now, after background work."""
        if (generation := self.generations.serving(user_id)) is None:
            return
        if behind:
            self._indexes.grow_graph_behind(generation)
            return
        self._indexes.await_growth()
        self._indexes.join_segments(generation)
        self._indexes.grow_graph(generation, progress)

    @property
    def indexes(self) -> Indexes:
        return self._indexes

    # ── checking

    def check_database(self, user_id: str) -> Iterator[Problem]:
        """Check all pages against their checksums and rows against the schema; report changes that only indexes had."""
        for message in self.database.check():
            yield Problem(f"database: {message}", mendable=False)
        with self.database.read(user_id) as cursor:
            losses = cursor.all("losses")
        for row in losses:
            yield Problem(loss_message(row["leg"], row["seen"], row["had"]), mendable=True)

    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """Check that the lexical index has exactly the published keys, and the dense index those with vectors."""
        with self.database.snapshot(generation.user_id) as cursor:
            seq = cursor.value("visible") or 0
            rows = cursor.all("live_keys", generation=generation.pk)
        keys = np.array([row["key"] for row in rows], dtype=np.int64)
        embedded = np.array([row["key"] for row in rows if not row["waits"]], dtype=np.int64)
        try:
            yield from self._indexes.check(generation, seq, keys, embedded)
        except StoreCorrupt as error:
            yield Problem(error.message, mendable=True)

    def rebuild_legs(self, generation: Generation) -> list[str]:
        self._indexes.rebuild(generation)
        with self.database.write(generation.user_id) as cursor:
            cursor.run("forget_losses")
        return []

    def take_notes(self, generation: Generation) -> list[str]:
        return self._indexes.notes(generation)

    def compact(self, user_id: str, *, scrub: bool = False) -> None:
        """Purge removed data from the database, its log and both indexes, with or without `scrub`."""
        with self.database.write(user_id) as cursor:
            cursor.run("drop_unused_vectors")
        self.database.checkpoint()
        self.database.vacuum()
        self.database.checkpoint()
        for generation in self.generations.all(user_id):
            self._indexes.rebuild(generation)
            if self.remote is not None:
                self.remote.compact(generation)


def _keep_private(folder: Path) -> None:
    """Make subfolders private, because an existing library folder may be open to others."""
    for name in ("index", FOLDER, INCOMING):
        path = folder / name
        with suppress(OSError):  # another user's, or read-only
            if path.is_dir() and path.stat().st_mode & 0o077:
                path.chmod(0o700)
