"""Cohere's own chat API, version 2, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from footnotes.answer.models import ChatRequest, Piece
from footnotes.answer.models.openai import Calls, as_dict, as_int, message_shape, stream_events, tool_shape
from footnotes.answer.models.remote import RemoteChat
from footnotes.errors import ProviderBadResponse
from footnotes.types import Usage

_FINISHES = {"MAX_TOKENS": "length", "TOOL_CALL": "tool_calls"}
_FAILURES = ("ERROR", "ERROR_TOXIC", "ERROR_LIMIT", "TIMEOUT")


class CohereChat(RemoteChat):
    """One model of Cohere."""

    path = "v2/chat"
    native = True

    def _read(self, lines: Iterator[str]) -> Iterator[Piece]:
        return _read(stream_events(self._provider, lines))

    def _body(self, request: ChatRequest) -> dict[str, object]:
        optional = {
            "temperature": None if request.temperature is None else min(request.temperature, 1.0),
            "max_tokens": request.max_tokens,
            "stop_sequences": list(request.stop[:5]) or None,
            "seed": request.seed,
            "tools": [tool_shape(tool) for tool in request.tools] or None,
        }
        return {
            "model": self._model,
            "messages": [message_shape(message) for message in request.messages],
            "stream": True,
            **{name: value for name, value in optional.items() if value is not None},
        }


def _read(events: Iterator[Mapping[str, object]]) -> Iterator[Piece]:
    calls, usage, finish = Calls(), None, None
    for event in events:
        kind, index = event.get("type"), as_int(event.get("index"))
        delta = as_dict(event.get("delta"))
        message = as_dict(delta.get("message"))
        if kind == "content-delta":
            if text := as_dict(message.get("content")).get("text"):
                yield Piece(str(text))
        elif kind in ("tool-call-start", "tool-call-delta"):
            call = as_dict(message.get("tool_calls"))
            function = as_dict(call.get("function"))
            if kind == "tool-call-start":
                calls.begin(index, str(call.get("id", "")), str(function.get("name", "")))
            calls.extend(index, str(function.get("arguments") or ""))
        elif kind == "message-end":
            reason = str(delta.get("finish_reason", "COMPLETE"))
            if reason in _FAILURES:
                raise ProviderBadResponse(f"Cohere ended its answer with {reason}")
            finish = _FINISHES.get(reason, "stop")
            tokens = as_dict(as_dict(delta.get("usage")).get("tokens"))
            usage = (
                Usage(as_int(tokens.get("input_tokens")), as_int(tokens.get("output_tokens")), 1) if tokens else None
            )
    if finish is None:
        raise ProviderBadResponse("Cohere broke off before the answer had ended")
    yield Piece(tool_calls=calls.made(), usage=usage, finish=finish)
