"""A library in a folder: SQLite holds the truth, the indexes are caches beside it.

library/
  footnotes.db            documents, text, chunks, vectors, the change log
  index/<tenant>/<generation>/lexical, dense
  files/<tenant>/<date>/  originals that are kept
  write.lock              who writes
"""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from footnotes.config import Settings
from footnotes.errors import NotALibrary, NotFound, StoreError, StoreUnavailable
from footnotes.index.outside import VectorDatabase
from footnotes.store.files import FolderFiles, write_error
from footnotes.store.lock import FileLock
from footnotes.store.naming import source_mark, without_collection
from footnotes.store.originals import FOLDER, Originals
from footnotes.store.outside import Outside, vector_database
from footnotes.store.records import (
    DocumentRow,
    Draft,
    Generation,
    JobUpdate,
    NewChunk,
    NewJob,
    Problem,
    StoredInput,
    Verification,
)
from footnotes.store.sqlite import chunks, documents, generations, jobs, recovery, saving, staging, verify, waiting
from footnotes.store.sqlite.connection import Database, migrate, schema_version, translated
from footnotes.store.sqlite.copying import SqliteSide
from footnotes.store.sqlite.generations import Served
from footnotes.store.sqlite.indexer import Indexer
from footnotes.store.sqlite.indexes import Indexes, Reached
from footnotes.store.sqlite.origins import SqliteOrigins
from footnotes.store.sqlite.outside import SqliteTruth
from footnotes.store.sqlite.presence import check_present, mark, was_library
from footnotes.store.sqlite.reading import SqliteReading
from footnotes.store.sqlite.sql import migrations, queries
from footnotes.store.sqlite.view import SqliteSearchView
from footnotes.types import DocumentStatus, ErrorInfo, Job, Metadata

DATABASE = "footnotes.db"
INCOMING = "incoming"


def is_library(folder: Path) -> bool:
    """Whether there is a library in a folder, or was one: opening it says what became of it."""
    return (folder / DATABASE).is_file() or was_library(folder)


class SqliteStore(SqliteReading):
    """The embedded store. Every method takes the tenant first; a foreign id is an id that does not exist."""

    kind = "sqlite"

    def __init__(
        self,
        folder: Path,
        *,
        lock_seconds: float = 10.0,
        vectors: VectorDatabase | None = None,
        legs: Sequence[str] = ("dense",),
        tells: bool = True,
    ) -> None:
        self.folder = folder
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
            migrate(self.database, migrations())
            library = self._library_id()
            mark(folder, library)
            self.outside = None if vectors is None else self._made_outside(vectors, legs, library, tells)
            self._indexes = Indexes(folder / "index", self.database, library, self.outside)
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
            tells=settings.index_metadata,
        )

    @classmethod
    def migrated(cls, folder: Path) -> tuple[list[int], int]:
        """Bring the schema of a library up to date, as opening it does anyway."""
        if not is_library(folder):
            raise NotALibrary(f"there is no library in {folder}")
        database = Database(folder / DATABASE)
        try:
            before = schema_version(database.writer)
            migrate(database, migrations())
            now = schema_version(database.writer)
        finally:
            database.close()
        return [number for number, _ in migrations() if before < number <= now], now

    @property
    def address(self) -> str:
        return str(self.folder)

    def close(self) -> None:
        self._indexer.close()
        self._indexes.close()
        self.database.close()

    @contextmanager
    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Hold the library for writing, whosever it is. What an earlier writer left unfinished is put right first."""
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
        """A folder for bytes on their way in, for whoever is writing. What a dead process left there goes first."""
        folder = self.folder / INCOMING
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise write_error(error, f"{folder} cannot be made") from error
        return folder

    def recover_if_idle(self, user_id: str) -> None:
        """Put right what a dead writer left, unless somebody is writing now. What was lost is said."""
        if generation := self.serving(user_id):
            self._indexes.notice_losses(generation)
        if not self.database.read_only and recovery.unfinished(self.database, but_indexing=self.outside is not None):
            # Reading must work on a full disk and beside a writer: whoever writes next puts it right.
            with suppress(StoreError), self.writing(user_id, "recovering", seconds=0):
                pass

    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """There is one writer at a time: nobody else is at any document."""
        return False

    def await_settled(self, user_id: str, pk: int) -> None:
        """As nobody else is at it, there is nothing to wait for."""

    def holder(self, user_id: str) -> int:
        """There is one writer at a time: it needs no number."""
        return 0

    def _recover(self) -> None:
        if not self._writing_nested() and recovery.unfinished(self.database):
            for user_id in recovery.recover(self.database):
                # An index that cannot follow is no reason to refuse every writer: `verify --repair` is one of them.
                with suppress(StoreError):
                    if generation := self.serving(user_id):
                        self.publish_changes(user_id, generation)
            self.originals.sweep("")

    def _before_writing(self, user_id: str) -> None:
        """See once that no index is ahead of a library that was put back from a copy, and that none elsewhere lags."""
        if user_id in self._seen_whole:
            return
        for generation in self.generations(user_id):
            self._indexes.go_back(generation)
        if self.outside is not None and (serving := self.serving(user_id)) is not None:
            self.outside.bring_what_is_missing(serving)
        self._seen_whole.add(user_id)

    def _writing_nested(self) -> bool:
        return self._lock.depth > 1

    def _made_outside(self, vectors: VectorDatabase, legs: Sequence[str], library: str, tells: bool) -> Outside:
        truth = SqliteTruth(self.database, self.folder, library, vectors.address, legs, tells=tells)
        return Outside(vectors, legs, library, truth)

    def _library_id(self) -> str:
        with translated():
            row = self.database.reader.execute(queries()["library_id"]).fetchone()
        if row is None:
            with self.database.transaction() as connection:
                row = connection.execute(queries()["library_id"]).fetchone()
                if row is None:
                    row = (uuid.uuid4().hex,)
                    connection.execute(queries()["make_library"], (row[0], documents.now()))
        return str(row[0])

    # ── searching

    def view(self, user_id: str) -> SqliteSearchView:
        served = self._served_now(user_id)
        behind, legs = 0, frozenset[str]()
        if served.generation is not None and self.outside is not None:
            behind, legs = self.outside.behind(served.generation), self.outside.legs
        return SqliteSearchView(
            self.database,
            self._indexes,
            served,
            user_id,
            waiting=max(served.waiting, behind if "dense" in legs else 0),
            waiting_words=behind if "lexical" in legs else 0,
        )

    def look_again(self, user_id: str) -> None:
        """Open what other processes did to the indexes, beside searches: from now on they do not do so themselves."""
        served = self._served_now(user_id)
        if served.generation is not None:
            self._indexes.look_again(served.generation, served.visible)

    def _served_now(self, user_id: str) -> Served:
        """What searches see, read again only when the database has changed."""
        with translated():
            reader = self.database.reader
            if reader.in_transaction:
                return generations.served(reader, user_id)
            version = reader.execute("PRAGMA data_version").fetchone()
            known = self._served.__dict__.get(user_id)
            if known is None or known[0] != version:
                # Read after its version: a change in between is seen the next time as another version.
                known = self._served.__dict__[user_id] = (version, generations.served(reader, user_id))
        found: Served = known[1]
        return found

    def view_of(self, user_id: str, generation: int) -> SqliteSearchView:
        """A generation that does not serve, as searches would see it."""
        with translated():
            found = generations.find(self.database.reader, user_id, generation)
        if found is None:
            raise NotFound(f"there is no generation {generation}")
        seq = self._indexes.catch_up(found, strictly=True).own
        served = Served(found, visible=seq, last=seq)
        return SqliteSearchView(self.database, self._indexes, served, user_id, trial=True)

    def serving(self, user_id: str) -> Generation | None:
        with translated():
            return generations.serving(self.database.reader, user_id)[0]

    # ── reading: see also `reading.py`

    def origins(self, user_id: str, collection: str) -> SqliteOrigins:
        return SqliteOrigins(self, user_id, collection)

    # ── writing

    def ensure_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """The generation that serves; made when the tenant has none."""
        with self.database.transaction() as connection:
            found, _ = generations.serving(connection, user_id)
            return found or generations.make(
                connection,
                user_id,
                embedder=embedder,
                fingerprint=fingerprint,
                dimensions=dimensions,
                plan=plan,
                state="serving",
            )

    def missing_vectors(self, user_id: str, generation: Generation, hashes: Iterable[bytes]) -> list[bytes]:
        with self.database.raw_snapshot() as connection:
            return chunks.missing_vectors(connection, user_id, generation.model, hashes)

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        with self.database.transaction() as connection:
            chunks.put_vectors(connection, generation, hashes, vectors)

    def save(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction. Complete ones are published, or staged to replace another."""
        with self.database.transaction() as connection:
            for draft in drafts:
                saving.save(connection, user_id, generation, draft)
        for draft in drafts:
            draft.parts, draft.chunks = [], []

    # ── vectors that follow

    def waiting(self, user_id: str) -> list[int]:
        """Documents that are found by their words and wait for their vectors, oldest first."""
        with self.database.raw_snapshot() as connection:
            return waiting.listed(connection, user_id)

    def claim_waiting(self, user_id: str) -> list[int]:
        """All that wait: whoever asks is the only writer."""
        return self.waiting(user_id)

    def waiting_chunks(self, user_id: str) -> int:
        with self.database.raw_snapshot() as connection:
            return waiting.chunk_count(connection, user_id)

    def inputs_without_vector(
        self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int
    ) -> list[StoredInput]:
        """What is still to be embedded of a document, in order, beginning after a chunk."""
        with self.database.raw_snapshot() as connection:
            return list(waiting.inputs(connection, generation, pk, after, limit))

    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Say of the documents that wait whether somebody is at it, and if not, why."""
        with self.database.transaction() as connection:
            waiting.set_all(connection, user_id, status, error)

    def finish_waiting(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """All vectors of these documents are saved: they become ready with the dense index."""
        with self.database.transaction() as connection:
            waiting.finish(connection, generation, pks)
        self.publish_changes(user_id, generation)

    # ── the journal

    def jobs(self, user_id: str) -> list[Job]:
        """What was begun and has not been forgotten, oldest first."""
        with self.database.raw_snapshot() as connection:
            return jobs.listed(connection, user_id)

    def make_jobs(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]:
        with self.database.transaction() as connection:
            return jobs.make(connection, user_id, run, new, holder)

    def take_jobs(self, user_id: str, numbers: Sequence[int], holder: str) -> None:
        with self.database.transaction() as connection:
            jobs.take(connection, user_id, numbers, holder)

    def update_jobs(self, user_id: str, updates: Sequence[JobUpdate]) -> None:
        with self.database.transaction() as connection:
            jobs.update(connection, user_id, updates)

    def let_go_jobs(self, user_id: str) -> None:
        with self.database.transaction() as connection:
            jobs.let_go(connection)

    def discard(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""
        with self.database.transaction() as connection:
            if draft.handle is None:
                draft.handle = saving.begin(connection, user_id, draft)
            saving.discard(connection, user_id, draft)
            documents.set_failed(connection, user_id, draft.handle.pk, error)

    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """The same bytes came again: remember the source, and take its metadata over."""
        merged = {**row.document.metadata, **metadata}
        with self.database.transaction() as connection:
            documents.add_source(connection, user_id, row.document.collection, source, row.pk)
            if merged == dict(row.document.metadata):
                return
            documents.set_metadata(connection, user_id, row.pk, merged)
            after = documents.find(connection, user_id, row.document.id)
            assert after is not None
            documents.refresh_facets(connection, user_id, after)
            connection.execute(queries()["next_epoch"], (user_id,))
            for generation in generations.listed(connection, user_id):
                documents.log_change(connection, user_id, generation.pk, row.pk, [])
        if serving := self.serving(user_id):
            self.publish_changes(user_id, serving)

    def forget_source(self, user_id: str, collection: str, source: str) -> None:
        """A source no longer leads anywhere; its document goes when it was the last one."""
        row = self.find_by_source(user_id, collection, source)
        if row is None:
            return
        with self.database.transaction() as connection:
            documents.drop_source(connection, user_id, collection, source)
            last = not documents.sources(connection, row.pk)
            if last:
                documents.log_removal(connection, user_id, row)
                documents.drop(connection, user_id, row)
        if last:
            self.after_removal(user_id)

    def set_collection(
        self,
        user_id: str,
        name: str,
        *,
        chunker: str | None = None,
        chunker_options: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        options = None if chunker_options is None else json.dumps(dict(chunker_options), sort_keys=True)
        with self.database.transaction() as connection:
            connection.execute(queries()["make_user"], (user_id,))
            row = (user_id, name, chunker, options, system_prompt, documents.now())
            connection.execute(queries()["put_collection"], row)

    def drop_collection(self, user_id: str, name: str) -> None:
        """Forget a collection that has no documents: its name, its prompt, and what was known of its sources."""
        with self.database.transaction() as connection:
            for query in ("drop_collection", "drop_collection_origins", "drop_collection_jobs"):
                connection.execute(queries()[query], (user_id, name))
            for generation in generations.listed(connection, user_id):
                plan = without_collection(generation.plan, name)
                if plan != generation.plan:
                    packed = json.dumps(plan, sort_keys=True)
                    connection.execute(queries()["set_plan"], (packed, user_id, generation.pk))
        self.checkpoint()

    # ── generations

    def begin_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """A generation to build. One that was begun with the same plan is gone on with; others are dropped."""
        if (begun := self._begun_generation(user_id, fingerprint, plan)) is not None:
            return begun
        with self.database.transaction() as connection:
            return generations.make(
                connection,
                user_id,
                embedder=embedder,
                fingerprint=fingerprint,
                dimensions=dimensions,
                plan=plan,
                state="building",
            )

    def documents_to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Documents that have no chunks in a generation yet."""
        with self.database.raw_snapshot() as connection:
            missing = {row[0] for row in connection.execute(queries()["documents_to_fill"], (user_id, generation.pk))}
            return [row for row in documents.listed(connection, user_id, None, None, 0) if row.pk in missing]

    def save_reindexed(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[NewChunk], version: str
    ) -> None:
        """The chunks of a document in a generation that does not serve yet, in one transaction."""
        assert row.current is not None
        with self.database.transaction() as connection:
            connection.execute(queries()["drop_chunks_of"], (user_id, generation.pk, row.current))
            chunks.put(connection, user_id, generation.pk, row.pk, row.current, made)
            documents.log_change(connection, user_id, generation.pk, row.pk, [])
            planned = (user_id, generation.pk, row.pk, version, len(made))
            connection.execute(queries()["put_planned"], planned)

    def switch_generation(
        self, user_id: str, to: Generation, *, keep: bool, choices: Mapping[str, Sequence[str | None]]
    ) -> bool:
        """Serve a generation that is complete, made by these choices. One that served may be kept, others go.

        Its indexes are ready before the first search can meet it.
        """
        seq = self._indexes.catch_up(to, strictly=True).own
        self._indexes.grow_graph(to)
        before = self.serving(user_id)
        with self.database.transaction() as connection:
            generations.switch(connection, user_id, to, seq)
            generations.apply_planned(connection, user_id, to)
            self._choose(connection, user_id, choices)
        if self.outside is not None:
            self.outside.promote_quietly(to)
        self._drop_kept(user_id, but=before if keep else None)
        return True

    def _drop_generation(self, user_id: str, generation: Generation) -> None:
        with self.database.transaction() as connection:
            generations.drop(connection, user_id, generation)
        self._indexes.drop(generation)

    def remember_choices(self, user_id: str) -> None:
        """Write down which chunkers the generation that serves was made with, so that a rollback can restore them."""
        with self.database.transaction() as connection:
            found, _ = generations.serving(connection, user_id)
            if found is not None:
                plan = {**found.plan, "choices": self.choices(user_id)}
                connection.execute(queries()["set_plan"], (json.dumps(plan, sort_keys=True), user_id, found.pk))

    @staticmethod
    def _choose(connection: apsw.Connection, user_id: str, choices: Mapping[str, Sequence[str | None]]) -> None:
        for name, (chunker, options) in choices.items():
            connection.execute(queries()["set_chunker"], (chunker, options, user_id, name))

    # ── indexes

    def publish_changes(self, user_id: str, generation: Generation) -> None:
        """Let both indexes catch up, then let searches expect it: only now are documents ready."""
        if self._publish(user_id, generation, self._indexes.catch_up(generation)):
            # What was replaced is shown no more: only now may indexes forget it.
            self._publish(user_id, generation, self._indexes.catch_up(generation))

    def _publish(self, user_id: str, generation: Generation, reached: Reached) -> bool:
        """Show what the indexes have, all in one step. Says whether versions were replaced."""
        with self.database.transaction() as connection:
            replaced = staging.show(connection, generation, reached.own)
            connection.execute(queries()["mark_ready"], (user_id, generation.pk, reached.all))
            connection.execute(queries()["set_visible"], (reached.own, user_id))
            return replaced

    def publish_behind(self, user_id: str, generation: Generation) -> None:
        """Have the words indexed by another process meanwhile, and publish what it has done; see `publish_all`."""
        if not self._indexes.serves_words() or self._has_staged():
            self._indexer.answered(wait=True)
            self.publish_changes(user_id, generation)
            return
        if not self._indexer.answered(wait=False):
            return
        self._publish(user_id, generation, self._indexes.seen(generation))
        if not self._indexer.ask(generation):
            self.publish_changes(user_id, generation)

    def _has_staged(self) -> bool:
        with translated():
            return self.database.reader.execute(queries()["any_staged"]).fetchone() is not None

    @property
    def is_indexing_behind(self) -> bool:
        return self._indexer.started

    def publish_all(self, user_id: str, generation: Generation) -> None:
        """Wait for what is being done behind, and publish everything."""
        self._indexer.answered(wait=True)
        self._indexer.close()
        self.publish_changes(user_id, generation)

    def grow_graph_behind(self, user_id: str) -> None:
        """Improve the dense index in a thread of its own, when it is worth it."""
        if generation := self.serving(user_id):
            self._indexes.grow_graph_behind(generation)

    def grow_graph(
        self, user_id: str, generation: Generation, progress: Callable[[int, int], None] | None = None
    ) -> bool:
        """Improve both indexes now, after what is being done behind."""
        self._indexes.await_growth()
        self._indexes.join_segments(generation)
        return self._indexes.grow_graph(generation, progress)

    @property
    def indexes(self) -> Indexes:
        return self._indexes

    # ── checking

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check everything of a tenant; with `repair`, rebuild indexes that do not match."""
        found = Verification()
        found.problems.extend(verify.check_pages(self.database))
        found.problems.extend(verify.check_losses(self.database, user_id))
        generation = self.serving(user_id)
        if generation is None or any(not problem.mendable for problem in found.problems):
            return found
        intact = 0
        for item in verify.check_text(self.database, generation, input_hash):
            if isinstance(item, Problem):
                found.problems.append(item)
            else:
                intact += item
        if repair:
            found.repaired.extend(verify.drop_misfit_vectors(self.database, generation))
        found.problems.extend(verify.check_vectors(self.database, generation))
        found.problems.extend(verify.check_indexes(self.database, self._indexes, generation))
        found.checked = {"documents": self.counts(user_id)["ready"], "chunks": intact}
        if repair and any(problem.mendable for problem in found.problems):
            self._indexes.rebuild(generation)
            with self.database.transaction() as connection:
                connection.execute(queries()["forget_losses"], (user_id,))
            found.problems = [problem for problem in found.problems if not problem.mendable]
            found.problems.extend(verify.check_indexes(self.database, self._indexes, generation))
        found.repaired.extend(self._indexes.notes(generation))
        if self.outside is not None:
            found.add(self.outside.verified(generation, repair=repair))
        return found

    def compact(self, user_id: str) -> None:
        """Leave no byte of what was removed: in the database, its log, and both indexes."""
        with self.database.transaction() as connection:
            connection.execute(queries()["drop_orphan_embeddings"], (user_id,))
        self.checkpoint()
        with self.database.write_lock, translated():
            self.database.writer.execute("VACUUM")
        self.checkpoint()
        for generation in self.generations(user_id):
            self._indexes.rebuild(generation)
            if self.outside is not None:
                self.outside.compact(generation)

    # ── moving

    def copy_side(self, user_id: str) -> SqliteSide:
        """The tenant's library as one side of a copy to or from another store."""
        return SqliteSide(self, user_id)

    # ── removing

    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, entries in both indexes.

        Work that is not done leaves their sources out from now on.
        """
        rows = [self.find(user_id, document_id) for document_id in dict.fromkeys(document_ids)]
        with self.database.transaction() as connection:
            for row in rows:
                for source in {row.document.source, *documents.sources(connection, row.pk)}:
                    mark_of = source_mark(row.document.collection, source)
                    connection.execute(queries()["leave_out"], (user_id, mark_of))
                documents.log_removal(connection, user_id, row)
                documents.drop(connection, user_id, row)
        self.after_removal(user_id)

    def after_removal(self, user_id: str) -> None:
        """Indexes forget what went, and the write-ahead log keeps no copy of it."""
        generation = self.serving(user_id)
        if generation is not None and self._publish(user_id, generation, self._indexes.catch_up(generation, soon=True)):
            self.publish_changes(user_id, generation)
        self.originals.sweep("")
        self.checkpoint()

    def checkpoint(self) -> None:
        with self.database.write_lock, translated():
            self.database.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _keep_private(folder: Path) -> None:
    """A folder that was there before may be open to others: what a library keeps of files in it is not."""
    for name in ("index", FOLDER, INCOMING):
        path = folder / name
        with suppress(OSError):  # somebody else's, or not to be written
            if path.is_dir() and path.stat().st_mode & 0o077:
                path.chmod(0o700)
