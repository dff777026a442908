"""Generations: begun beside the one that serves, filled, switched to, and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footnotes.errors import NotFound
from footnotes.store import documents, generations
from footnotes.store.database import Json
from footnotes.store.generations import Choices, Recipe
from footnotes.store.groups.core import Core
from footnotes.store.records import DocumentRow, Generation, NewChunk
from footnotes.store.retry import retrying


class Generations:
    """The generations of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def serving(self, user_id: str) -> Generation | None:
        with self._core.database.read(user_id) as cursor:
            return generations.serving(cursor)

    def all(self, user_id: str) -> list[Generation]:
        with self._core.database.read(user_id) as cursor:
            return generations.listed(cursor)

    def find(self, user_id: str, generation: int) -> Generation:
        with self._core.database.read(user_id) as cursor:
            found = generations.find(cursor, generation)
        if found is None:
            raise NotFound(f"there is no generation {generation}")
        return found

    @retrying
    def ensure(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """The generation that serves; made when the tenant has none, by one of those who find that."""
        if (found := self.serving(user_id)) is not None:
            return found
        with self._core.database.write(user_id) as cursor:
            self._core.own_tenant(cursor)
            recipe = Recipe(embedder, fingerprint, dimensions, plan)
            made = generations.serving(cursor) or generations.make(cursor, recipe, "serving")
        if self._core.outside is not None:
            self._core.outside.note(made)
        return made

    def begin(
        self, user_id: str, *, embedder: str, fingerprint: str, dimensions: int, plan: dict[str, Any]
    ) -> Generation:
        """A generation to build. One that was begun with the same plan is gone on with; others are dropped."""
        self._core.hold_generations(user_id)
        for generation in self.all(user_id):
            if generation.state == "building":
                if generation.fingerprint == fingerprint and generation.plan == plan:
                    return generation
                self._drop(user_id, generation)
        with self._core.database.write(user_id) as cursor:
            return generations.make(cursor, Recipe(embedder, fingerprint, dimensions, plan), "building")

    def to_fill(self, user_id: str, generation: Generation) -> list[DocumentRow]:
        """Documents that are not complete in a generation yet."""
        with self._core.database.snapshot(user_id) as cursor:
            missing = cursor.all("documents_to_fill", generation=generation.pk)
            return documents.by_key(cursor, [row["pk"] for row in missing])

    def switch(self, user_id: str, to: Generation, *, keep: bool, choices: Choices) -> bool:
        """Serve a generation, made by these choices. One that served may be kept, others go.

        Says no, and does nothing, when documents have come that it lacks. Its indexes are ready before the first
        search can meet it.
        """
        self._core.hold_generations(user_id)
        seq = self._core.prepare_legs(to)
        is_done, before = self._switch(user_id, to, seq, choices)
        if not is_done:
            return False
        if self._core.outside is not None:
            self._core.outside.promote_quietly(to)
        self.drop_kept(user_id, but=before if keep else None)
        return True

    @retrying
    def _switch(self, user_id: str, to: Generation, seq: int, choices: Choices) -> tuple[bool, Generation | None]:
        """Whether it was done, and what served before."""
        with self._core.database.write(user_id) as cursor:
            self._core.own_tenant(cursor)
            before = generations.serving(cursor)
            if cursor.all("documents_to_fill", generation=to.pk):
                return False, before
            generations.switch(cursor, to, seq)
            generations.choose(cursor, choices)
            return True, before

    def drop_kept(self, user_id: str, *, but: Generation | None = None) -> None:
        """Drop the generations that were kept, but one."""
        for generation in self.all(user_id):
            if generation.state == "kept" and (but is None or generation.pk != but.pk):
                self._drop(user_id, generation)

    @retrying
    def _drop(self, user_id: str, generation: Generation) -> None:
        with self._core.database.write(user_id) as cursor:
            generations.drop(cursor, generation)
        self._core.drop_legs(generation)

    def remember_choices(self, user_id: str) -> None:
        """Write down which chunkers the generation that serves was made with, so that a rollback can restore them."""
        choices = self.choices(user_id)
        with self._core.database.write(user_id) as cursor:
            if (found := generations.serving(cursor)) is not None:
                plan = Json({**found.plan, "choices": choices})
                cursor.run("set_plan", generation=found.pk, plan=plan)

    def choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The chunker and its options chosen for every collection."""
        with self._core.database.read(user_id) as cursor:
            rows = cursor.all("collections")
        return {row["name"]: [row["chunker"], row["chunker_options"]] for row in rows}

    def kept_choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The choices of chunkers by which the kept generation was made; those of now where it does not say."""
        kept = [generation for generation in self.all(user_id) if generation.state == "kept"]
        return self.choices(user_id) | ((kept[-1].plan.get("choices") if kept else None) or {})

    def fill(
        self, user_id: str, generation: Generation, row: DocumentRow, made: Sequence[NewChunk], version: str
    ) -> None:
        """Write the chunks of a document in a generation that does not serve yet, in one transaction."""
        self._core.fill_generation(user_id, generation, row, made, version)
