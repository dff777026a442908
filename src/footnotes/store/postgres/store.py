"""Many servers and workers, one truth: a store in PostgreSQL with pgvector, or AlloyDB, which speaks the same.

Both legs search tables of the database, so that what is committed is found. Any number write at once; see `writers`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.config import Settings
from footnotes.errors import FootnotesError, NotFound, StoreLocked, StoreUnavailable
from footnotes.index.outside import VectorDatabase
from footnotes.store.address import redacted
from footnotes.store.files import Files, FolderFiles, files_of
from footnotes.store.naming import without_collection
from footnotes.store.originals import FOLDER, Originals
from footnotes.store.outside import Outside, vector_database
from footnotes.store.postgres import (
    chunks,
    documents,
    generations,
    jobs,
    recovery,
    saving,
    schema,
    statistics,
    upkeep,
    verify,
    waiting,
)
from footnotes.store.postgres.claiming import claim
from footnotes.store.postgres.clean import clean
from footnotes.store.postgres.copying import PostgresSide
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.indexes import Indexes
from footnotes.store.postgres.origins import PostgresOrigins
from footnotes.store.postgres.outside import PostgresTruth
from footnotes.store.postgres.outside_legs import OutsideLegs
from footnotes.store.postgres.persistence import persistent, persistently
from footnotes.store.postgres.reading import PostgresReading, refused
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.view import PostgresSearchView, Served
from footnotes.store.postgres.writers import Writers
from footnotes.store.records import (
    DocumentRow,
    Draft,
    Generation,
    JobUpdate,
    NewChunk,
    NewJob,
    StoredInput,
    Verification,
)
from footnotes.types import DocumentStatus, ErrorInfo, Job, Metadata

INCOMING = "incoming"
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 1.0


class PostgresStore(PostgresReading):
    """The store of many machines. Every method takes the tenant first; a foreign id is an id that does not exist."""

    kind = "postgresql"

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
        self.read_only, self._primary = read_only, primary
        self.folder = folder
        self.address = redacted(address)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the folder {folder} cannot be made ({error.strerror})") from error
        self.database = Database(address, outside=vectors is not None, read_only=read_only)
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
        self.outside = None if vectors is None else self._made_outside(vectors, legs, tells)
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

    def _made_outside(self, vectors: VectorDatabase, legs: Sequence[str], tells: bool) -> Outside:
        library = str(self.database.fetch("", "SELECT id FROM library")[0][0])
        truth = PostgresTruth(self.database, library, vectors.address, legs, tells=tells)
        return Outside(vectors, legs, library, truth)

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
        if self.outside is not None:
            self.outside.close()
        self._writers.close()
        self.database.close()

    # ── holding it

    @contextmanager
    def writing(self, user_id: str, purpose: str, *, seconds: float | None = None) -> Iterator[None]:
        """Be a writer of a tenant's library, beside others. What dead ones left unfinished is put right first."""
        if self.read_only:
            raise refused(self._primary)
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
            recovery.recover(self.database, user_id)

    def await_settled(self, user_id: str, pk: int) -> None:
        """Wait until no other living writer is at a document."""
        wait = _FIRST_LOOK
        while self.is_held_elsewhere(user_id, pk):
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_LOOK)

    def holder(self, user_id: str) -> int:
        """The number under which this thread writes; 0, which is nobody's, where it does not."""
        return self._writers.number_if_any(user_id)

    def is_held_elsewhere(self, user_id: str, pk: int) -> bool:
        """Whether another living writer is at a document."""
        mine = self._writers.number_if_any(user_id)
        with self.database.reading(user_id) as connection:
            return connection.value(queries()["is_held_elsewhere"], user_id, mine, pk) is not None

    @contextmanager
    def changing(self, user_id: str) -> Iterator[Connection]:
        """A transaction that changes what searches see. No generation begins to serve meanwhile."""
        with self.database.transaction(user_id) as connection:
            connection.execute(queries()["share_tenant"], user_id)
            yield connection
            connection.execute(queries()["bump"], user_id)
        self._bring_serving(user_id)

    # ── searching

    def view(self, user_id: str) -> PostgresSearchView:
        served = self._served.get(user_id)
        if served is None:
            with self.database.reading(user_id) as connection:
                served = self._served[user_id] = generations.served(connection, user_id)
        legs = self._outside_legs(served.generation)
        return PostgresSearchView(self.database, user_id, served, self._noticing(user_id), outside=legs)

    def _outside_legs(self, generation: Generation | None) -> OutsideLegs | None:
        if self.outside is None or generation is None:
            return None
        if not self.read_only:
            self.outside.note(generation)  # it may have been chosen after the library was made
        return OutsideLegs(self.database, self.outside, generation)

    def _noticing(self, user_id: str) -> Callable[[int | None, Served], None]:
        """What a search saw of what serves now is what the next one begins with."""

        def notice(serving: int | None, seen: Served) -> None:
            known = self._served.get(user_id)
            if known is not None and serving == (known.generation.pk if known.generation else None):
                self._served[user_id] = replace(seen, generation=known.generation)
            else:
                self._served.pop(user_id, None)

        return notice

    def view_of(self, user_id: str, generation: int) -> PostgresSearchView:
        """A generation that does not serve, as searches would see it."""
        with self.database.reading(user_id) as connection:
            found = generations.find(connection, user_id, generation)
        if found is None:
            raise NotFound(f"there is no generation {generation}")
        if self.outside is not None:
            self.outside.catch_up(found)
        legs = self._outside_legs(found)
        return PostgresSearchView(self.database, user_id, Served(found), lambda *_: None, outside=legs, trial=True)

    def look_again(self, user_id: str) -> None:
        """Searches ask the database: they see what others wrote without being told."""

    def serving(self, user_id: str) -> Generation | None:
        with self.database.reading(user_id) as connection:
            return generations.serving(connection, user_id)

    # ── reading: see also `reading.py`

    def origins(self, user_id: str, collection: str) -> PostgresOrigins:
        return PostgresOrigins(self, user_id, collection)

    # ── writing

    @persistent
    def ensure_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """The generation that serves; made when the tenant has none, by one of those who find that."""
        if (found := self.serving(user_id)) is not None:
            return found
        with self.database.transaction(user_id) as connection:
            connection.execute(queries()["own_tenant"], user_id)
            made = generations.serving(connection, user_id) or generations.make(
                connection,
                user_id,
                embedder=embedder,
                fingerprint=fingerprint,
                dimensions=dimensions,
                plan=plan,
                state="serving",
            )
        if self.outside is not None:
            self.outside.note(made)
        return made

    def missing_vectors(self, user_id: str, generation: Generation, hashes: Iterable[bytes]) -> list[bytes]:
        made = self._writers.vectors(user_id, generation.model)
        with self.database.reading(user_id) as connection:
            missing = chunks.missing_vectors(connection, user_id, generation.model, hashes)
        return [value for value in missing if value not in made]

    def save_vectors(
        self, user_id: str, generation: Generation, hashes: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Give vectors to the chunks that wait for them; those of chunks to come are kept until they are written."""
        self._writers.number(user_id)
        halves = chunks.as_halves(generation, vectors)

        def attempt() -> set[bytes]:
            with self.database.transaction(user_id) as connection:
                connection.execute(queries()["save_vectors"], user_id, generation.model, list(hashes), halves)
                rows = connection.fetch(queries()["inputs_known"], user_id, generation.model, list(hashes))
                return {row[0] for row in rows}

        known = persistently(attempt)
        kept = self._writers.vectors(user_id, generation.model)
        kept.update((key, half) for key, half in zip(hashes, halves, strict=True) if key not in known)

    def save(self, user_id: str, generation: Generation, drafts: Sequence[Draft]) -> None:
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

    @persistent
    def discard(self, user_id: str, draft: Draft, error: ErrorInfo) -> None:
        """Give up a draft. A document that never was complete stays listed as failed, with the reason."""
        holder = self._writers.number(user_id)
        if draft.handle is None:
            claim(self.database, user_id, holder, [draft])
        if draft.handle is None:
            return  # another writer has the same bytes: what becomes of them is for it to say
        with self.database.transaction(user_id) as connection:
            documents.set_failed(connection, user_id, draft.handle.pk, error)
            saving.discard(connection, user_id, holder, draft.handle)

    @persistent
    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """The same bytes came again: remember the source, and take its metadata over."""
        merged = {**row.document.metadata, **metadata}
        with self.database.transaction(user_id) as connection:
            if not connection.execute(queries()["put_source_of_living"], user_id, row.pk, clean(source)):
                raise NotFound(f"there is no document {row.document.id!r}")
            if merged == dict(row.document.metadata):
                return
            connection.execute(queries()["share_tenant"], user_id)
            documents.set_metadata(connection, user_id, row.pk, merged)
            documents.put_facets(connection, user_id, documents.by_pk(connection, user_id, [row.pk]))
            connection.execute(queries()["bump"], user_id)
        self._bring_serving(user_id)

    @persistent
    def forget_source(self, user_id: str, collection: str, source: str) -> None:
        """A source no longer leads anywhere; its document goes when it was the last one."""
        row = self.find_by_source(user_id, collection, source)
        if row is None:
            return
        with self.changing(user_id) as connection:
            found = documents.locked(connection, user_id, [row.document.id])
            documents.drop_source(connection, user_id, collection, source)
            last = bool(found) and not documents.sources(connection, user_id, row.pk)
            if last:
                documents.drop(connection, user_id, found)
        if last:
            self.originals.sweep(user_id)

    @persistent
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
        prompt = None if system_prompt is None else clean(system_prompt)
        with self.database.transaction(user_id) as connection:
            connection.execute(queries()["make_user"], user_id)
            connection.execute(queries()["put_collection"], user_id, clean(name), chunker, options, prompt)

    @persistent
    def drop_collection(self, user_id: str, name: str) -> None:
        """Forget a collection that has no documents: its name, its prompt, and what was known of its sources."""
        with self.database.transaction(user_id) as connection:
            for query in ("drop_collection", "drop_collection_origins", "drop_collection_jobs"):
                connection.execute(queries()[query], user_id, clean(name))
            for generation in generations.listed(connection, user_id):
                plan = without_collection(generation.plan, name)
                if plan != generation.plan:
                    connection.execute(queries()["set_plan"], user_id, generation.pk, plan)

    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, kept files."""
        wanted = list(dict.fromkeys(document_ids))

        def attempt() -> None:
            with self.changing(user_id) as connection:
                rows = documents.locked(connection, user_id, [clean(document_id) for document_id in wanted])
                if missing := set(wanted) - {row.document.id for row in rows}:
                    raise NotFound(f"there is no document {next(id_ for id_ in wanted if id_ in missing)!r}")
                connection.execute(queries()["leave_out"], user_id, documents.marks(connection, user_id, rows))
                documents.drop(connection, user_id, rows)

        if wanted:
            persistently(attempt)
            self.originals.sweep(user_id)

    # ── vectors that follow

    def waiting(self, user_id: str) -> list[int]:
        """Documents that are found by their words and wait for their vectors, oldest first."""
        with self.database.reading(user_id) as connection:
            return waiting.listed(connection, user_id)

    @persistent
    def claim_waiting(self, user_id: str) -> list[int]:
        """Some of those that wait and that nobody living is at: they are the caller's to embed now."""
        with self.database.transaction(user_id) as connection:
            return waiting.claimed(connection, user_id, self._writers.number(user_id))

    def waiting_chunks(self, user_id: str) -> int:
        with self.database.reading(user_id) as connection:
            return waiting.chunk_count(connection, user_id)

    def inputs_without_vector(
        self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int
    ) -> list[StoredInput]:
        """What is still to be embedded of a document, in order, beginning after a chunk."""
        with self.database.reading(user_id) as connection:
            return waiting.inputs(connection, user_id, generation, pk, after, limit)

    @persistent
    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Say of the documents the caller is at, or nobody, whether somebody is, and if not, why."""
        with self.database.transaction(user_id) as connection:
            waiting.set_all(connection, user_id, self._writers.number(user_id), status, error)

    @persistent
    def finish_waiting(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """Those of these documents that have all their vectors are ready."""
        with self.database.transaction(user_id) as connection:
            waiting.finish(connection, user_id, self._writers.number(user_id), generation, pks)
        self._bring(generation)

    # ── the journal

    def jobs(self, user_id: str) -> list[Job]:
        with self.database.reading(user_id) as connection:
            return jobs.listed(connection, user_id)

    @persistent
    def make_jobs(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]:
        label = jobs.held_by(self._writers.number(user_id), holder)
        with self.database.transaction(user_id) as connection:
            return jobs.make(connection, user_id, run, new, label)

    @persistent
    def take_jobs(self, user_id: str, numbers: Sequence[int], holder: str) -> None:
        label = jobs.held_by(self._writers.number(user_id), holder)
        with self.database.transaction(user_id) as connection:
            jobs.take(connection, user_id, numbers, label)

    @persistent
    def update_jobs(self, user_id: str, updates: Sequence[JobUpdate]) -> None:
        with self.database.transaction(user_id) as connection:
            jobs.update(connection, user_id, updates)

    @persistent
    def let_go_jobs(self, user_id: str) -> None:
        with self.database.transaction(user_id) as connection:
            jobs.let_go(connection, user_id, self._writers.number_if_any(user_id))

    # ── generations

    def begin_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """A generation to build. One that was begun with the same plan is gone on with; others are dropped."""
        self._hold_generations(user_id)
        if (begun := self._begun_generation(user_id, fingerprint, plan)) is not None:
            return begun
        with self.database.transaction(user_id) as connection:
            return generations.make(
                connection,
                user_id,
                embedder=embedder,
                fingerprint=fingerprint,
                dimensions=dimensions,
                plan=plan,
                state="building",
            )

    def _hold_generations(self, user_id: str) -> None:
        self._writers.number(user_id)
        if not self._writers.hold_generations(user_id):
            raise StoreLocked("another writer is indexing the library anew")

    def documents_to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Documents that have no chunks in a generation yet, or chunks without vectors."""
        with self.database.raw_snapshot(user_id) as connection:
            missing = connection.fetch(queries()["documents_to_fill"], user_id, generation.pk)
            return documents.by_pk(connection, user_id, [row[0] for row in missing])

    def save_reindexed(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[NewChunk], version: str
    ) -> None:
        """The chunks of a document in a generation that does not serve yet, in one transaction."""
        vectors = self._writers.vectors(user_id, generation.model)
        saving.save_reindexed(self.database, user_id, generation, row, made, version, vectors.get)
        vectors.clear()

    def switch_generation(
        self, user_id: str, to: Generation, *, keep: bool, choices: Mapping[str, Sequence[str | None]]
    ) -> bool:
        """Serve a generation, made by these choices. One that served may be kept, others go.

        Says no, and does nothing, when other writers brought documents that it lacks. Its dense index is there before
        the first search can meet it.
        """
        self._hold_generations(user_id)
        self._grow(to)
        if self.outside is not None:
            self.outside.catch_up(to)
        with self.database.transaction(user_id) as connection:
            connection.execute(queries()["own_tenant"], user_id)
            before = generations.serving(connection, user_id)
            if connection.fetch(queries()["documents_to_fill"], user_id, to.pk):
                return False
            generations.switch(connection, user_id, to)
            generations.choose(connection, user_id, choices)
        if self.outside is not None:
            self.outside.promote_quietly(to)
        self._drop_kept(user_id, but=before if keep else None)
        return True

    def _drop_generation(self, user_id: str, generation: Generation) -> None:
        with self.database.transaction(user_id) as connection:
            generations.drop(connection, user_id, generation)
        self._indexes.drop(generation)
        if self.outside is not None:
            self.outside.drop(generation)

    def remember_choices(self, user_id: str) -> None:
        """Write down which chunkers the generation that serves was made with, so that a rollback can restore them."""
        choices = self.choices(user_id)
        with self.database.transaction(user_id) as connection:
            found = generations.serving(connection, user_id)
            if found is not None:
                connection.execute(queries()["set_plan"], user_id, found.pk, {**found.plan, "choices": choices})

    # ── indexes

    @persistent
    def publish_changes(self, user_id: str, generation: Generation) -> None:
        """What is committed is found already: the documents that lack nothing are ready.

        Where a vector database serves, it is brought what came; those it has not got yet are not ready.
        """
        self._bring(generation)
        with self.database.transaction(user_id) as connection:
            if connection.execute(queries()["mark_ready"], user_id, self._writers.number_if_any(user_id)):
                connection.execute(queries()["bump"], user_id)

    def publish_behind(self, user_id: str, generation: Generation) -> None:
        self.publish_changes(user_id, generation)

    @property
    def is_indexing_behind(self) -> bool:
        return False

    def publish_all(self, user_id: str, generation: Generation) -> None:
        self.publish_changes(user_id, generation)

    def grow_graph_behind(self, user_id: str) -> None:
        """Build the dense index and fold statistics in a thread of its own, when it is worth it."""
        generation = self.serving(user_id)
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
        legs = frozenset() if self.outside is None else self.outside.legs
        grown = self._indexes.grow(generation, dense="dense" not in legs)
        if "lexical" in legs:
            self._bring(generation)  # words may have been weighed anew
        return grown

    def _bring_serving(self, user_id: str) -> None:
        """What changed in the generation that serves is brought to a vector database, if there is one."""
        if self.outside is not None and (generation := self.serving(user_id)) is not None:
            self.outside.attempt_soon(generation)

    def _bring_what_is_missing(self, user_id: str) -> None:
        if self.outside is not None and (generation := self.serving(user_id)) is not None:
            self.outside.note(generation)
            self.outside.bring_what_is_missing(generation)

    def _bring(self, generation: Generation) -> None:
        if self.outside is not None:
            self.outside.attempt(generation)

    def grow_graph(
        self, user_id: str, generation: Generation, progress: Callable[[int, int], None] | None = None
    ) -> bool:
        """Build the dense index now, if the generation is large enough for one."""
        grower = self._grower
        if grower is not None:
            grower.join()
        return self._grow(generation)

    # ── moving

    def copy_side(self, user_id: str) -> PostgresSide:
        """The tenant's library as one side of a copy to or from another store."""
        return PostgresSide(self, user_id)

    # ── checking

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check texts, vectors and statistics of a tenant; with `repair`, count the statistics anew."""
        generation = self.serving(user_id)
        if generation is None:
            return Verification()
        found = verify.verified(self.database, generation, input_hash)
        found.checked["documents"] = self.counts(user_id)["ready"]
        if repair and any(problem.mendable for problem in found.problems):
            with self.changing(user_id) as connection:
                verify.recount(connection, generation)
            found.problems = [problem for problem in found.problems if not problem.mendable]
            found.repaired.append("statistics: counted anew")
        if self.outside is not None:
            found.add(self.outside.verified(generation, repair=repair))
        return found

    def compact(self, user_id: str) -> None:
        """Leave no byte of what was removed in any table or index. The server's log and its backups are its own."""
        with self.changing(user_id) as connection:
            for generation in generations.listed(connection, user_id):
                statistics.fold(connection, user_id, generation.pk)
        with self.database.owning() as connection:
            upkeep.vacuum(connection)
        if self.outside is not None:
            for generation in self.generations(user_id):
                self.outside.compact(generation)
