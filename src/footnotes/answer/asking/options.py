"""The options of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from footnotes.errors import ConfigError, OptionError
from footnotes.retrieve.retriever import MAX_LIMIT
from footnotes.retrieve.where import Where
from footnotes.settings import Settings
from footnotes.types import Turn

PER_CALL = frozenset(
    {
        "model", "strict", "repair", "formulas", "ungrounded", "temperature", "max_tokens", "stop", "seed",
        "answer_sentences", "answer_vectors", "reader", "answer_seconds", "expand", "reranker",
        "agent_steps", "agent_tokens", "agent_seconds",
    }
)  # fmt: skip
"""Settings that a question may change; not keys, addresses and files."""

PASSAGES = 20
"""Passages shown to a model, or used for an extractive answer."""
DEEP_PASSAGES = 2
"""The factor by which a deep question may use more passages."""


History = Sequence[Turn | tuple[str, str]]
"""The turns before a question, oldest first: as `Turn`s, or as pairs of speaker and text."""


class AskRequest(TypedDict, total=False):
    """The options of a question, here or to a server."""

    where: Where | None
    collection: str | None
    mode: str | None
    passages: int | None
    history: History
    deep: bool
    """Search more than once."""
    model: str
    strict: bool
    temperature: float
    max_tokens: int


class AskChoices(AskRequest, total=False):
    """The options of a question here, and the settings it changes."""

    instructions: str
    """Tell a model how to answer. Whatever they say, every sentence still needs a passage."""
    repair: bool
    formulas: bool
    ungrounded: bool
    stop: Sequence[str]
    seed: int | None
    answer_sentences: int
    answer_vectors: bool
    reader: bool
    answer_seconds: float
    expand: Sequence[str]
    reranker: str
    agent_steps: int
    agent_tokens: int
    agent_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """The options of a question."""

    where: Any = None
    collection: str | None = None
    instructions: str = ""
    mode: str | None = None
    passages: int | None = None
    history: tuple[Turn, ...] = ()
    deep: bool = False
    settings: Settings

    def searching(self) -> dict[str, Any]:
        """Return the options of a search for it."""
        if self.passages is not None and not 1 <= self.passages <= MAX_LIMIT:
            raise OptionError(f"passages must be between 1 and {MAX_LIMIT}, not {self.passages}")
        count = (self.passages or self.settings.answer_passages or PASSAGES) * (DEEP_PASSAGES if self.deep else 1)
        return {
            "limit": count,
            "per_document": count,
            "mode": self.mode,
            "where": self.where,
            "collection": self.collection,
            "reranker": self.settings.reranker,
        }


def change_settings(settings: Settings, changes: dict[str, Any]) -> Settings:
    """Apply a question's changes to the settings. Raises if a question may not make them."""
    given = {name: value for name, value in changes.items() if value is not None}
    if refused := sorted(set(given) - PER_CALL):
        raise OptionError(f"a question cannot change {refused[0]!r}; it can change {', '.join(sorted(PER_CALL))}")
    try:
        return replace(settings, **given)
    except ConfigError as error:
        raise OptionError(error.message) from error


def as_turns(history: History) -> tuple[Turn, ...]:
    """Convert a conversation, given as `Turn`s or as pairs of speaker and text, to turns."""
    turns = [turn if isinstance(turn, Turn) else Turn(*turn) for turn in history]  # type: ignore[arg-type]
    for turn in turns:
        if turn.role not in ("user", "assistant"):
            raise OptionError(f"a turn is the user's or the assistant's, not {turn.role!r}")
    return tuple(turns)
