"""Chat models: one file per API, one protocol for all.

A model streams pieces. Everything around it (deadlines, retries, counting, fallback) is shared and lives outside, so
that a new model is one small class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from footnotes.remote.deadline import Deadline
from footnotes.text.tokens import count_tokens
from footnotes.types import Usage

Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requests."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `tool_calls` belong to an assistant's turn, `tool_call_id` to a tool's result."""

    role: Speaker
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request to a model."""

    messages: Sequence[Message]
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a reply: text as it arrives, and at the end tool calls, usage and stop reason."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. `cut` means that the model reached its token limit."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    cut: bool


class ChatModel(Protocol):
    """Streams a reply. Raises only errors of the tree; a stream that breaks yields its pieces first, then raises."""

    @property
    def name(self) -> str:
        """The name, `provider:model`, as in the settings."""
        ...

    @property
    def context_tokens(self) -> int:
        """The maximum tokens of prompt and reply together."""
        ...

    @property
    def calls_tools(self) -> bool: ...

    def chat(self, request: ChatRequest, *, deadline: Deadline) -> Iterator[Piece]: ...


def complete(model: ChatModel, request: ChatRequest, *, deadline: Deadline) -> Reply:
    """Return the whole reply at once."""
    text, calls, usage, finish = "", list[ToolCall](), None, None
    for piece in model.chat(request, deadline=deadline):
        text += piece.text
        calls.extend(piece.tool_calls)
        usage, finish = piece.usage or usage, piece.finish or finish
    return Reply(text, tuple(calls), usage or estimate_usage(request, text), finish == "length")


def estimate_usage(request: ChatRequest, text: str) -> Usage:
    """Estimate the usage if a provider does not report it."""
    prompt = sum(count_tokens(message.content) + 4 for message in request.messages)
    return Usage(prompt, count_tokens(text), 1)


def add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.model_calls + other.model_calls,
        None if one.cost_usd is None and other.cost_usd is None else (one.cost_usd or 0.0) + (other.cost_usd or 0.0),
    )
