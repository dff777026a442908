"""The one implementation of a store. A dialect adds how drafts are written, and how its legs follow them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from footnotes.errors import NotFound
from footnotes.store import chunks, documents, generations, jobs, near, texts, verify, waiting
from footnotes.store.copying import Side
from footnotes.store.database import Cursor, Database, Json
from footnotes.store.generations import Choices, Recipe
from footnotes.store.memories import Memories
from footnotes.store.originals import Originals
from footnotes.store.outside import Outside
from footnotes.store.records import (
    DocumentRow,
    Generation,
    JobUpdate,
    NewChunk,
    NewJob,
    Problem,
    StoredInput,
    Verification,
)
from footnotes.store.retry import retrying
from footnotes.store.sources import Sources
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


class BaseStore(ABC):
    """Documents, generations, sources and jobs of many tenants, over any database that speaks the named queries."""

    folder: Path
    database: Database
    originals: Originals
    outside: Outside | None = None
    whole = 0
    """Characters up to which a text is kept whole in the row of its document."""

    # ── what a dialect adds

    @abstractmethod
    def holder(self, user_id: str) -> int:
        """The number under which this thread writes; 0, which is nobody's, where it does not or needs none."""

    @abstractmethod
    def job_holder(self, user_id: str, label: str) -> str:
        """How a job says who is at it."""

    @abstractmethod
    def changing(self, user_id: str) -> AbstractContextManager[Cursor]:
        """A transaction that changes what searches see. No generation begins to serve meanwhile."""

    @abstractmethod
    def after_change(self, user_id: str, *, removed: bool) -> None:
        """Let the legs follow what was committed; with `removed`, leave nothing behind of what went."""

    @abstractmethod
    def rewrite_terms(self, cursor: Cursor, row: DocumentRow) -> None:
        """A document has another title: its chunks are found by other terms."""

    @abstractmethod
    def put_chunks(
        self,
        cursor: Cursor,
        generation: Generation,
        row: DocumentRow,
        chunks: Sequence[NewChunk],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        """Write chunks of the version that is served, with vectors in half precision where there are any."""

    @abstractmethod
    def finish_copy(self, user_id: str) -> None:
        """Let searches see what was copied here."""

    @abstractmethod
    def publish_changes(self, user_id: str, generation: Generation) -> None: ...

    @abstractmethod
    def own_tenant(self, cursor: Cursor) -> None:
        """Be the only one who changes what serves, until the transaction ends."""

    @abstractmethod
    def hold_generations(self, user_id: str) -> None:
        """Be the only one to build generations for a tenant, until this writer ends."""

    @abstractmethod
    def prepare_legs(self, generation: Generation) -> int:
        """Make the indexes of a generation ready before the first search meets it; the change they have seen."""

    @abstractmethod
    def drop_legs(self, generation: Generation) -> None:
        """Remove the indexes of a generation that is gone."""

    @abstractmethod
    def check_database(self, user_id: str) -> Iterator[Problem]:
        """What does not hold in the database itself."""

    @abstractmethod
    def check_legs(self, generation: Generation) -> Iterator[Problem]:
        """What does not hold in the legs."""

    @abstractmethod
    def rebuild_legs(self, generation: Generation) -> list[str]:
        """Make the legs again from what is stored; what was repaired."""

    def take_notes(self, generation: Generation) -> list[str]:
        """What was repaired before anybody asked."""
        return []

    # ── reading

    def users(self) -> list[str]:
        with self.database.read("") as cursor:
            return [row["user_id"] for row in cursor.all("users")]

    def size(self, user_id: str) -> int:
        """Bytes of the folder, with what other tenants have in it."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def find(self, user_id: str, document_id: str) -> DocumentRow:
        """A document by id; `NotFound` where there is none."""
        with self.database.read(user_id) as cursor:
            return documents.get(cursor, document_id)

    def find_by_hash(self, user_id: str, collection: str, file_hash: str) -> DocumentRow | None:
        with self.database.read(user_id) as cursor:
            return documents.find_by_hash(cursor, collection, file_hash)

    def find_by_source(self, user_id: str, collection: str, source: str) -> DocumentRow | None:
        with self.database.read(user_id) as cursor:
            return documents.find_by_source(cursor, collection, source)

    def documents(
        self, user_id: str, *, where: Filter | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Documents in the order they came, those that pass the filter."""
        with self.database.read(user_id) as cursor:
            return [row.document for row in documents.listed(cursor, where, limit, offset)]

    def text(self, user_id: str, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Canonical text of a document, or a span of it."""
        with self.database.snapshot(user_id) as cursor:
            row, version = documents.get_current(cursor, document_id)
            last = row.document.characters if end is None else min(end, row.document.characters)
            return texts.read_span(cursor, version, max(start, 0), last)

    def parts(self, user_id: str, document_id: str) -> Iterator[Part]:
        """The parts of a document as its parser gave them, one at a time: a document may be larger than memory."""
        with self.database.keep_state(user_id):
            with self.database.read(user_id) as cursor:
                _, version = documents.get_current(cursor, document_id)
            yield from texts.read_parts(self.database, user_id, version)

    def chunks(self, user_id: str, document_id: str) -> list[Chunk]:
        with self.database.snapshot(user_id) as cursor:
            row, _ = documents.get_current(cursor, document_id)
            generation = generations.serving(cursor)
            return [] if generation is None else chunks.of_document(cursor, generation.pk, row.pk)

    def neighbours(self, user_id: str, document_id: str, first: int, last: int) -> list[Chunk]:
        with self.database.snapshot(user_id) as cursor:
            generation = generations.serving(cursor)
            if generation is None:
                return []
            return chunks.neighbours(cursor, generation.pk, document_id, first, last)

    def sources(self, user_id: str, document_id: str) -> list[str]:
        with self.database.read(user_id) as cursor:
            return documents.sources(cursor, documents.get(cursor, document_id).pk)

    def origins(self, user_id: str, collection: str) -> Sources:
        return Sources(self, user_id, collection)

    def memories(self, user_id: str) -> Memories:
        """What models said of the tenant's texts."""
        return Memories(self.database, user_id)

    def collections(self, user_id: str) -> list[dict[str, Any]]:
        with self.database.read(user_id) as cursor:
            return [dict(row) for row in cursor.all("collections")]

    def near_duplicates(self, user_id: str) -> dict[str, NearDuplicate]:
        """Every document that nearly equals another, by its id."""
        with self.database.read(user_id) as cursor:
            return near.near_duplicates(cursor)

    def counts(self, user_id: str) -> dict[str, Any]:
        with self.database.snapshot(user_id) as cursor:
            found = cursor.one("counts")
            by_status = {row["status"]: row["documents"] for row in cursor.all("counts_by_status")}
            alike = cursor.value("count_near_duplicates")
        assert found is not None
        return {**dict(found), "by_status": by_status, "near_duplicates": alike}

    def generations(self, user_id: str) -> list[Generation]:
        with self.database.read(user_id) as cursor:
            return generations.listed(cursor)

    def serving(self, user_id: str) -> Generation | None:
        with self.database.read(user_id) as cursor:
            return generations.serving(cursor)

    def find_generation(self, user_id: str, generation: int) -> Generation:
        with self.database.read(user_id) as cursor:
            found = generations.find(cursor, generation)
        if found is None:
            raise NotFound(f"there is no generation {generation}")
        return found

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; they wait in the log."""
        return self.outside.failure.info() if self.outside is not None and self.outside.failure is not None else None

    def index_state(self, user_id: str) -> IndexState | None:
        """How the vector database is doing that serves legs; None where there is none."""
        return None if self.outside is None else self.outside.state(self.serving(user_id))

    # ── writing

    @retrying
    def touch(self, user_id: str, row: DocumentRow, *, source: str, metadata: Metadata) -> None:
        """The same bytes came again: remember the source, and take its metadata over."""
        merged = {**row.document.metadata, **metadata}
        if merged == dict(row.document.metadata):
            with self.database.write(user_id) as cursor:
                _put_source(cursor, row, source)
            return
        with self.changing(user_id) as cursor:
            _put_source(cursor, row, source)
            documents.set_metadata(cursor, row.pk, merged)
            documents.put_facets(cursor, documents.by_key(cursor, [row.pk]))
            cursor.run("note_change", document=row.pk)
        self.after_change(user_id, removed=False)

    @retrying
    def forget_source(self, user_id: str, collection: str, source: str) -> None:
        """A source no longer leads anywhere; its document goes when it was the last one."""
        row = self.find_by_source(user_id, collection, source)
        if row is None:
            return
        with self.changing(user_id) as cursor:
            found = documents.locked(cursor, [row.document.id])
            documents.drop_source(cursor, collection, source)
            last = bool(found) and not documents.sources(cursor, row.pk)
            if last:
                documents.drop(cursor, found)
        if last:
            self.after_change(user_id, removed=True)

    @retrying
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
        with self.database.write(user_id) as cursor:
            cursor.run("make_user")
            said = {"chunker": chunker, "chunker_options": options, "system_prompt": system_prompt}
            cursor.run("put_collection", name=name, **said)

    @retrying
    def drop_collection(self, user_id: str, name: str) -> None:
        """Forget a collection that has no documents: its name, its prompt, and what was known of its sources."""
        with self.database.write(user_id) as cursor:
            generations.drop_collection(cursor, name)
        self.database.checkpoint()

    @retrying
    def delete(self, user_id: str, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none: rows, vectors nothing else uses, entries in both indexes, kept files.

        Work that is not done leaves their sources out from now on.
        """
        wanted = list(dict.fromkeys(document_ids))
        if not wanted:
            return
        with self.changing(user_id) as cursor:
            rows = documents.locked(cursor, wanted)
            if missing := set(wanted) - {row.document.id for row in rows}:
                raise NotFound(f"there is no document {next(id_ for id_ in wanted if id_ in missing)!r}")
            cursor.run("leave_out", marks=documents.marks(cursor, rows))
            documents.drop(cursor, rows)
        self.after_change(user_id, removed=True)

    # ── vectors that follow

    def waiting(self, user_id: str) -> list[int]:
        """Documents that are found by their words and wait for their vectors, oldest first."""
        with self.database.read(user_id) as cursor:
            return waiting.listed(cursor)

    @retrying
    def claim_waiting(self, user_id: str) -> list[int]:
        """Some or all of those that wait and that nobody else is at: they are the caller's to embed now."""
        with self.database.write(user_id) as cursor:
            return waiting.claim(cursor, self.holder(user_id))

    def waiting_chunks(self, user_id: str) -> int:
        with self.database.read(user_id) as cursor:
            return waiting.count_chunks(cursor)

    def inputs_without_vector(
        self, user_id: str, generation: Generation, pk: int, *, after: int, limit: int
    ) -> list[StoredInput]:
        """What is still to be embedded of a document, in order, beginning after a chunk."""
        with self.database.snapshot(user_id) as cursor:
            return waiting.inputs(cursor, generation, pk, after, limit)

    @retrying
    def set_waiting(self, user_id: str, status: DocumentStatus, error: ErrorInfo | None = None) -> None:
        """Say of the documents that wait whether somebody is at it, and if not, why."""
        with self.database.write(user_id) as cursor:
            waiting.set_all(cursor, self.holder(user_id), status, error)

    @retrying
    def finish_waiting(self, user_id: str, generation: Generation, pks: Sequence[int]) -> None:
        """All vectors of these documents are saved: they become ready."""
        with self.database.write(user_id) as cursor:
            waiting.finish(cursor, self.holder(user_id), generation, pks)
        self.publish_changes(user_id, generation)

    # ── the journal

    def jobs(self, user_id: str) -> list[Job]:
        """What was begun and has not been forgotten, oldest first."""
        with self.database.read(user_id) as cursor:
            return jobs.listed(cursor)

    @retrying
    def make_jobs(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]:
        with self.database.write(user_id) as cursor:
            return jobs.make(cursor, run, new, self.job_holder(user_id, holder))

    @retrying
    def take_jobs(self, user_id: str, numbers: Sequence[int], holder: str) -> None:
        with self.database.write(user_id) as cursor:
            jobs.take(cursor, numbers, self.job_holder(user_id, holder))

    @retrying
    def update_jobs(self, user_id: str, updates: Sequence[JobUpdate]) -> None:
        with self.database.write(user_id) as cursor:
            jobs.update(cursor, updates)

    @retrying
    def let_go_jobs(self, user_id: str) -> None:
        """The caller is not at its jobs any more, and neither is whoever died."""
        with self.database.write(user_id) as cursor:
            jobs.let_go(cursor, self.holder(user_id))

    # ── generations

    @retrying
    def ensure_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """The generation that serves; made when the tenant has none, by one of those who find that."""
        if (found := self.serving(user_id)) is not None:
            return found
        with self.database.write(user_id) as cursor:
            self.own_tenant(cursor)
            recipe = Recipe(embedder, fingerprint, dimensions, plan)
            made = generations.serving(cursor) or generations.make(cursor, recipe, "serving")
        if self.outside is not None:
            self.outside.note(made)
        return made

    def begin_generation(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """A generation to build. One that was begun with the same plan is gone on with; others are dropped."""
        self.hold_generations(user_id)
        for generation in self.generations(user_id):
            if generation.state == "building":
                if generation.fingerprint == fingerprint and generation.plan == plan:
                    return generation
                self._drop_generation(user_id, generation)
        with self.database.write(user_id) as cursor:
            return generations.make(cursor, Recipe(embedder, fingerprint, dimensions, plan), "building")

    def documents_to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Documents that are not complete in a generation yet."""
        with self.database.snapshot(user_id) as cursor:
            missing = cursor.all("documents_to_fill", generation=generation.pk)
            return documents.by_key(cursor, [row["pk"] for row in missing])

    def switch_generation(self, user_id: str, to: Generation, *, keep: bool, choices: Choices) -> bool:
        """Serve a generation, made by these choices. One that served may be kept, others go.

        Says no, and does nothing, when documents have come that it lacks. Its indexes are ready before the first
        search can meet it.
        """
        self.hold_generations(user_id)
        seq = self.prepare_legs(to)
        with self.database.write(user_id) as cursor:
            self.own_tenant(cursor)
            before = generations.serving(cursor)
            if cursor.all("documents_to_fill", generation=to.pk):
                return False
            generations.switch(cursor, to, seq)
            generations.choose(cursor, choices)
        if self.outside is not None:
            self.outside.promote_quietly(to)
        for generation in self.generations(user_id):
            if generation.state == "kept" and not (keep and before is not None and generation.pk == before.pk):
                self._drop_generation(user_id, generation)
        return True

    def _drop_generation(self, user_id: str, generation: Generation) -> None:
        with self.database.write(user_id) as cursor:
            generations.drop(cursor, generation)
        self.drop_legs(generation)

    def remember_choices(self, user_id: str) -> None:
        """Write down which chunkers the generation that serves was made with, so that a rollback can restore them."""
        choices = self.choices(user_id)
        with self.database.write(user_id) as cursor:
            if (found := generations.serving(cursor)) is not None:
                plan = Json({**found.plan, "choices": choices})
                cursor.run("set_plan", generation=found.pk, plan=plan)

    def choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The chunker and its options chosen for every collection."""
        return {row["name"]: [row["chunker"], row["chunker_options"]] for row in self.collections(user_id)}

    def kept_choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The choices of chunkers by which the kept generation was made; those of now where it does not say."""
        kept = [generation for generation in self.generations(user_id) if generation.state == "kept"]
        return self.choices(user_id) | ((kept[-1].plan.get("choices") if kept else None) or {})

    # ── checking and moving

    def verify(self, user_id: str, input_hash: Callable[[str, str], bytes], *, repair: bool = False) -> Verification:
        """Check everything of a tenant; with `repair`, mend what can be made again."""
        found = Verification()
        found.problems.extend(self.check_database(user_id))
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
        found.problems.extend(self.check_legs(generation))
        found.checked = {"documents": self.counts(user_id)["ready"], "chunks": intact}
        if repair and any(problem.mendable for problem in found.problems):
            found.repaired.extend(self.rebuild_legs(generation))
            found.problems = [problem for problem in found.problems if not problem.mendable]
            found.problems.extend(self.check_legs(generation))
        found.repaired.extend(self.take_notes(generation))
        if self.outside is not None:
            found.add(self.outside.verified(generation, repair=repair))
        return found

    def copy_side(self, user_id: str) -> Side:
        """The tenant's library as one side of a copy to or from another store."""
        return Side(self, user_id)


def _put_source(cursor: Cursor, row: DocumentRow, source: str) -> None:
    if not cursor.run("put_source_of_document", document=row.pk, source=source):
        raise NotFound(f"there is no document {row.document.id!r}")
