"""Any server with OpenAI's chat completions API: OpenAI, Azure, vLLM, llama.cpp, Ollama, Gemini, Cohere …"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from footnotes.answer.models import ChatRequest, Message, Piece, Tool, ToolCall
from footnotes.answer.models.remote import RemoteChat
from footnotes.errors import ProviderBadResponse
from footnotes.types import Usage


class OpenAIChat(RemoteChat):
    """One model of an OpenAI-compatible server, streamed."""

    path = "chat/completions"

    @property
    def calls_tools(self) -> bool:
        return self._provider in ("openai", "gemini", "cohere")

    def _read(self, lines: Iterator[str]) -> Iterator[Piece]:
        return read_stream(self._provider, lines)

    def _body(self, request: ChatRequest) -> dict[str, object]:
        official = self._provider == "openai" and "api.openai.com" in self._remote.endpoint.base_url
        optional = {
            "temperature": request.temperature,
            "max_completion_tokens" if official else "max_tokens": request.max_tokens,
            "stop": list(request.stop) or None,
            "seed": request.seed,
            "tools": [tool_shape(tool) for tool in request.tools] or None,
            # Cohere's compatible API rejects it, and reports the usage anyway.
            "stream_options": None if self._provider == "cohere" else {"include_usage": True},
        }
        return {
            "model": self._model,
            "messages": [message_shape(message) for message in request.messages],
            "stream": True,
            **{name: value for name, value in optional.items() if value is not None},
        }


def message_shape(message: Message) -> dict[str, object]:
    shape: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shape["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        shape["tool_call_id"] = message.tool_call_id
    return shape


def tool_shape(tool: Tool) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


# ── reading the stream ───────────────────────────────────────────────────────────────────────────────────


def read_stream(provider: str, lines: Iterator[str]) -> Iterator[Piece]:
    """Yield pieces from server-sent events, or from one object if the server ignored `stream`."""
    state = _State(provider)
    for line in lines:
        if line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                state.done = True
                break
            yield from state.pieces(parse_object(provider, data))
        elif line and not line.startswith((":", "event:", "id:", "retry:")):
            state.unframed.append(line)
    if state.unframed and not state.heard:
        yield from state.pieces(parse_object(provider, "\n".join(state.unframed)))
    if not state.done and state.finish is None:
        raise ProviderBadResponse(f"{provider} broke off before the answer had ended")
    yield Piece(tool_calls=state.calls(), usage=state.usage, finish=state.finish)


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class _State:
    """The part of one reply received so far."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.done = self.heard = False
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.unframed: list[str] = []
        self._calls: dict[int, _Call] = {}

    def pieces(self, event: Mapping[str, object]) -> Iterator[Piece]:
        self.heard = True
        if event.get("error"):
            raise ProviderBadResponse(f"{self.provider} answered with an error in place of text")
        self.usage = _usage(event.get("usage")) or self.usage
        for choice in _list(event.get("choices"))[:1]:
            delta = as_dict(choice.get("delta") or choice.get("message"))
            self._collect(delta)
            self.finish = choice.get("finish_reason") or self.finish
            if isinstance(text := delta.get("content"), str) and text:
                yield Piece(text)

    def _collect(self, delta: Mapping[str, object]) -> None:
        for place, part in enumerate(_list(delta.get("tool_calls"))):
            index = part.get("index")
            call = self._calls.setdefault(index if isinstance(index, int) else place, _Call())
            function = as_dict(part.get("function"))
            call.id = str(part.get("id") or call.id)
            call.name += str(function.get("name") or "")
            call.arguments += str(function.get("arguments") or "")

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(call.id or f"call-{index}", call.name, parse_arguments(call.arguments))
            for index, call in sorted(self._calls.items())
        )


def parse_object(provider: str, data: str) -> dict[str, object]:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        kind = "an HTML page" if data.lstrip().startswith("<") else "no valid JSON"
        raise ProviderBadResponse(f"{provider} answered with {kind}") from error
    if not isinstance(parsed, dict):
        raise ProviderBadResponse(f"{provider} answered with JSON that is no object")
    return parsed


def parse_arguments(text: str) -> dict[str, object]:
    """Parse the arguments of a call; pass on invalid ones unchanged, for the tool to reject."""
    try:
        parsed = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"unreadable": text[:1_000]}
    return parsed if isinstance(parsed, dict) else {"unreadable": text[:1_000]}


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    counts = [count if isinstance(count, int) else 0 for count in (prompt, completion)]
    return Usage(counts[0], counts[1], 1)


def as_dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# ── reads streams of providers: events as objects, and tool calls that arrive in parts ────────────────────────


def stream_events(provider: str, lines: Iterator[str]) -> Iterator[dict[str, object]]:
    """Yield the objects of server-sent events, or the one object of a server that did not stream."""
    unframed: list[str] = []
    heard = False
    for line in lines:
        if line.startswith("data:"):
            data = line[5:].strip()
            if data and data != "[DONE]":
                heard = True
                yield parse_object(provider, data)
        elif line and not line.startswith((":", "event:", "id:", "retry:")):
            unframed.append(line)
    if unframed and not heard:
        yield parse_object(provider, "\n".join(unframed))


def as_int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


class Calls:
    """Tool calls by index, whose arguments arrive piece by piece."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[str, str, list[str]]] = {}

    def begin(self, index: int, call_id: str, name: str) -> None:
        self._parts[index] = (call_id, name, [])

    def extend(self, index: int, arguments: str) -> None:
        if index in self._parts:
            self._parts[index][2].append(arguments)

    def made(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(call_id or f"call-{index}", name, parse_arguments("".join(parts)))
            for index, (call_id, name, parts) in sorted(self._parts.items())
        )
