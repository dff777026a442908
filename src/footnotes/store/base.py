"""What stores do alike, whatever holds their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from footnotes.store import near
from footnotes.store.database import Database
from footnotes.store.memories import Memories
from footnotes.store.outside import Outside
from footnotes.store.records import Generation
from footnotes.types import ErrorInfo, IndexState, NearDuplicate


class BaseStore(ABC):
    """Choices of chunkers, which generations stay, and how a vector database is doing."""

    database: Database
    outside: Outside | None = None

    def memories(self, user_id: str) -> Memories:
        """What models said of the tenant's texts."""
        return Memories(self.database, user_id)

    def near_duplicates(self, user_id: str) -> dict[str, NearDuplicate]:
        """Every document that nearly equals another, by its id."""
        with self.database.read(user_id) as cursor:
            return near.near_duplicates(cursor)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Why a vector database could not be told of the last changes; they wait in the log."""
        return self.outside.failure.info() if self.outside is not None and self.outside.failure is not None else None

    def index_state(self, user_id: str) -> IndexState | None:
        """How the vector database is doing that serves legs; None where there is none."""
        if self.outside is None:
            return None
        generation = next((one for one in self.generations(user_id) if one.state == "serving"), None)
        return self.outside.state(generation)

    @abstractmethod
    def collections(self, user_id: str) -> list[dict[str, Any]]: ...

    @abstractmethod
    def generations(self, user_id: str) -> list[Generation]: ...

    @abstractmethod
    def _drop_generation(self, user_id: str, generation: Generation) -> None: ...

    def choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The chunker and its options chosen for every collection."""
        return {row["name"]: [row["chunker"], row["chunker_options"]] for row in self.collections(user_id)}

    def kept_choices(self, user_id: str) -> dict[str, list[str | None]]:
        """The choices of chunkers by which the kept generation was made; those of now where it does not say."""
        kept = [generation for generation in self.generations(user_id) if generation.state == "kept"]
        return self.choices(user_id) | ((kept[-1].plan.get("choices") if kept else None) or {})

    def _begun_generation(self, user_id: str, fingerprint: str, plan: dict[str, Any]) -> Generation | None:
        """The generation that was begun with the same plan and can be gone on with; others that were begun go."""
        for generation in self.generations(user_id):
            if generation.state != "building":
                continue
            if generation.fingerprint == fingerprint and generation.plan == plan:
                return generation
            self._drop_generation(user_id, generation)
        return None

    def _drop_kept(self, user_id: str, but: Generation | None) -> None:
        """Drop the generations that were kept, but one."""
        for generation in self.generations(user_id):
            if generation.state == "kept" and (but is None or generation.pk != but.pk):
                self._drop_generation(user_id, generation)
