"""Anthropic's Messages API, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from footnotes.answer.models import ChatRequest, Message, Piece, Tool
from footnotes.answer.models.openai import Calls, as_dict, as_int, stream_events
from footnotes.answer.models.remote import RemoteChat
from footnotes.errors import ProviderBadResponse, ProviderUnavailable
from footnotes.types import Usage

DEFAULT_MAX_TOKENS = 1_024
"""The API requires a number."""
_FINISHES = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tool_calls"}
_PASSING = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")


class AnthropicChat(RemoteChat):
    """One model of Anthropic."""

    path = "messages"

    def _read(self, lines: Iterator[str]) -> Iterator[Piece]:
        return _read(stream_events(self._provider, lines))

    def _body(self, request: ChatRequest) -> dict[str, object]:
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        optional = {
            "system": system or None,
            "temperature": None if request.temperature is None else min(request.temperature, 1.0),
            "stop_sequences": [stop for stop in request.stop if stop.strip()] or None,
            "tools": [_tool(tool) for tool in request.tools] or None,
        }
        return {
            "model": self._model,
            "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
            "messages": _turns(request.messages),
            "stream": True,
            **{name: value for name, value in optional.items() if value is not None},
        }


def _turns(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Return the conversation without system messages. Tool results are the user's; turns of one side are joined."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.tool_call_id:
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    blocks: list[dict[str, object]] = [{"type": "text", "text": message.content}] if message.content.strip() else []
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)})
    return blocks


def _tool(tool: Tool) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _read(events: Iterator[Mapping[str, object]]) -> Iterator[Piece]:
    calls, sent, said, finish, ended = Calls(), 0, 0, None, False
    for event in events:
        kind, index = event.get("type"), as_int(event.get("index"))
        if kind == "error":
            raise _failure(as_dict(event.get("error")))
        if kind == "message_start":
            usage = as_dict(as_dict(event.get("message")).get("usage"))
            cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
            sent = sum(as_int(usage.get(name)) for name in ("input_tokens", *cached))
            said = as_int(usage.get("output_tokens"))
        elif kind == "content_block_start":
            block = as_dict(event.get("content_block"))
            if block.get("type") == "tool_use":
                calls.begin(index, str(block.get("id", "")), str(block.get("name", "")))
                if block.get("input"):
                    calls.extend(index, json.dumps(block["input"]))
        elif kind == "content_block_delta":
            delta = as_dict(event.get("delta"))
            if delta.get("type") == "text_delta" and delta.get("text"):
                yield Piece(str(delta["text"]))
            elif delta.get("type") == "input_json_delta":
                calls.extend(index, str(delta.get("partial_json", "")))
        elif kind == "message_delta":
            reason = as_dict(event.get("delta")).get("stop_reason")
            finish = _FINISHES.get(str(reason), "stop") if reason else finish
            said = as_int(as_dict(event.get("usage")).get("output_tokens")) or said
        elif kind == "message_stop":
            ended = True
    if not ended and finish is None:
        raise ProviderBadResponse("Anthropic broke off before the answer had ended")
    yield Piece(tool_calls=calls.made(), usage=Usage(sent, said, 1), finish=finish or "stop")


def _failure(error: Mapping[str, object]) -> Exception:
    if error.get("type") in _PASSING:
        return ProviderUnavailable("Anthropic is overloaded and broke off its answer")
    return ProviderBadResponse("Anthropic answered with an error in place of text")
