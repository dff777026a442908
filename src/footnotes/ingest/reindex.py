"""The next generation: built from stored text beside the current one, then switched to in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from footnotes.embed import Embedder
from footnotes.errors import NotFound, StoreLocked
from footnotes.ingest.derive import ChunkerOf, chunker_fingerprint, derive_again, recut_version
from footnotes.ingest.embedding import Embedding, check_embedder, recipe_for
from footnotes.ingest.pieces import pieces_to_embed
from footnotes.ingest.work import Progress
from footnotes.store.records import ChunkDraft, DocumentRow, Generation

ROUNDS = 100
"""How often newer documents are added before the switch is given up."""


class Reindex:
    """Builds generations for one tenant. The caller holds the library for writing; searches continue."""

    def __init__(self, embedding: Embedding, chunker_of: ChunkerOf) -> None:
        self._embedding = embedding
        self._store, self._user_id = embedding.store, embedding.user
        self._chunker_of = chunker_of

    def run(
        self,
        *,
        keep: bool,
        gate: Callable[[int], dict[str, object]] | None,
        choices: Mapping[str, Sequence[str | None]],
    ) -> dict[str, object]:
        """Build, switch, and drop the previous generation unless it is kept. Resumes an interrupted build.

        `gate` inspects the generation before the switch, and raises to refuse it. `choices` of chunkers apply from the
        switch on.
        """
        before = self._store.generations.serving(self._user_id)
        if before is None:
            raise NotFound("the library has no documents to reindex")
        building = self._store.generations.begin(self._user_id, recipe_for(self._embedding.embedder, self._plan()))
        documents, embedded = self._fill(building)
        judged = gate(building.pk) if gate is not None else None
        more = self._switch(building, keep=keep, choices=choices)
        documents, embedded = documents + more[0], embedded + more[1]
        return {
            **({"golden": judged} if judged else {}),
            "generation": building.pk,
            "replaced": before.pk,
            "kept": keep,
            "documents": documents,
            "embedded": embedded,
        }

    def rollback(
        self, embedder_of: Callable[[str], Embedder], *, choices: Mapping[str, Sequence[str | None]]
    ) -> dict[str, object]:
        """Switch to the newest kept generation, after adding newer documents to it."""
        generations = [g for g in self._store.generations.all(self._user_id) if g.state == "kept"]
        if not generations:
            raise NotFound("no earlier generation was kept", remedy="Reindex with --keep to be able to go back.")
        target = generations[-1]
        self._embedding = replace(self._embedding, embedder=embedder_of(target.embedder))
        check_embedder(target, self._embedding.embedder)
        documents, embedded = self._fill(target)
        before = self._store.generations.serving(self._user_id)
        more = self._switch(target, keep=True, choices=choices)
        documents, embedded = documents + more[0], embedded + more[1]
        return {
            "generation": target.pk,
            "replaced": before.pk if before else None,
            "kept": True,
            "documents": documents,
            "embedded": embedded,
        }

    def _switch(self, to: Generation, *, keep: bool, choices: Mapping[str, Sequence[str | None]]) -> tuple[int, int]:
        """Switch to the generation. Newer documents of other writers are added first, as often as needed."""
        documents = embedded = 0
        for _ in range(ROUNDS):
            if self._store.generations.switch(self._user_id, to, keep=keep, choices=choices):
                return documents, embedded
            more = self._fill(to)
            documents, embedded = documents + more[0], embedded + more[1]
        raise StoreLocked(
            "documents are added faster than they can be reindexed", remedy="Retry when fewer documents are added."
        )

    def _plan(self) -> dict[str, object]:
        names = [collection["name"] for collection in self._store.collections.all(self._user_id)]
        return {"chunkers": {name: chunker_fingerprint(self._chunker_of(name, "text/plain")) for name in names}}

    def _fill(self, generation: Generation) -> tuple[int, int]:
        """Build chunks and vectors for every document that has none in this generation yet."""
        rows = self._store.generations.to_fill(self._user_id, generation)
        embedded = 0
        for number, row in enumerate(rows):
            self._embedding.on_progress(Progress("parsing", number, len(rows), row.document.filename))
            with suppress(
                NotFound, StoreLocked
            ):  # deleted or replaced in the meantime: the switch checks what is left to do
                embedded += self._fill_one(generation, row)
        return len(rows), embedded

    def _fill_one(self, generation: Generation, row: DocumentRow) -> int:
        chunker = self._chunker_of(row.document.collection, row.document.mime)
        derive, drafts, embedded = derive_again(row.document, chunker), list[ChunkDraft](), 0
        for part in self._store.documents.parts(self._user_id, row.document.id):
            fresh = list(derive.chunks(part))
            inputs = {chunk.input_hash: pieces_to_embed(chunk, text, self._embedding.embedder) for chunk, text in fresh}
            embedded += self._embedding.embed(generation, inputs).inputs
            drafts.extend(chunk for chunk, _ in fresh)
        version = recut_version(row.document.ingestion_version, chunker, generation.fingerprint)
        self._store.generations.fill(self._user_id, generation, row, drafts, version)
        return embedded
