"""How a question is asked, and what it is asked of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from footnotes.answer.answerer import EXTRACTIVE
from footnotes.config import Settings
from footnotes.errors import ConfigError, OptionError
from footnotes.retrieve.retriever import MAX_LIMIT
from footnotes.types import Chunk, Document, SearchResult, Turn

PER_CALL = frozenset(
    {
        "model", "strict", "repair", "ungrounded", "temperature", "max_tokens", "stop", "seed", "answer_sentences",
        "answer_vectors", "reader", "answer_seconds", "expand", "reranker", "agent_steps", "agent_tokens",
        "agent_seconds",
    }
)  # fmt: skip
"""Settings that one question may change. Keys, addresses and files are not among them."""

READ_PASSAGES, QUOTED_PASSAGES = 20, 8
"""Passages that a model is shown, and those an extractive answer chooses from: reading more finds no more of them."""
DEEP_PASSAGES = 2
"""How many times as many passages a deep question may draw on."""


class Searched(Protocol):
    """What can be searched and read: the engine's own methods."""

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        where: Any = None,
        collection: str | None = None,
        per_document: int | None = None,
        reranker: str | None = None,
    ) -> SearchResult: ...

    def text(self, document_id: str, start: int = 0, end: int | None = None) -> str: ...

    def documents(self, *, where: Any = None, collection: str | None = None) -> list[Document]: ...

    def chunks(self, document_id: str) -> list[Chunk]: ...


class Ground(Searched, Protocol):
    """What a question is asked of: the engine, and what it says of itself."""

    def system_prompt(self, collection: str) -> str: ...

    def system_prompts(self) -> dict[str, str]: ...

    def stamp(self) -> str:
        """Changes whenever the library does."""
        ...

    def evidence(self, found: SearchResult) -> dict[str, Any]:
        """The `embed` and `document_frequency` of `Findings`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """How to ask."""

    where: Any = None
    collection: str | None = None
    instructions: str = ""
    mode: str | None = None
    passages: int | None = None
    history: tuple[Turn, ...] = ()
    deep: bool = False
    settings: Settings

    def searching(self) -> dict[str, Any]:
        """The options of a search for it."""
        if self.passages is not None and not 1 <= self.passages <= MAX_LIMIT:
            raise OptionError(f"passages must be between 1 and {MAX_LIMIT}, not {self.passages}")
        usual = QUOTED_PASSAGES if self.settings.model == EXTRACTIVE else READ_PASSAGES
        count = (self.passages or self.settings.answer_passages or usual) * (DEEP_PASSAGES if self.deep else 1)
        return {
            "limit": count,
            "per_document": count,
            "mode": self.mode,
            "where": self.where,
            "collection": self.collection,
            "reranker": self.settings.reranker,
        }


def changed_settings(settings: Settings, changes: dict[str, Any]) -> Settings:
    """The settings with what one question may change."""
    given = {name: value for name, value in changes.items() if value is not None}
    if refused := sorted(set(given) - PER_CALL):
        raise OptionError(f"a question cannot change {refused[0]!r}; it can change {', '.join(sorted(PER_CALL))}")
    try:
        return replace(settings, **given)
    except ConfigError as error:
        raise OptionError(error.message) from error


def as_turns(history: Sequence[Turn | tuple[str, str]]) -> tuple[Turn, ...]:
    """The turns of a conversation, given as such or as pairs of who spoke and what was said."""
    turns = [turn if isinstance(turn, Turn) else Turn(*turn) for turn in history]  # type: ignore[arg-type]
    for turn in turns:
        if turn.role not in ("user", "assistant"):
            raise OptionError(f"a turn is the user's or the assistant's, not {turn.role!r}")
    return tuple(turns)
