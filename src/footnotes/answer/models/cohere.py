"""Cohere's own chat interface, version 2, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from footnotes.answer.models import ChatRequest, Piece
from footnotes.answer.models.events import Calls, as_dict, as_int, stream_events
from footnotes.answer.models.openai import message_shape, tool_shape
from footnotes.answer.models.table import load_table
from footnotes.errors import ConfigError, ProviderBadResponse
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.presets import endpoint_for
from footnotes.settings import Settings
from footnotes.types import Usage

PROVIDER = "cohere"
_FINISHES = {"MAX_TOKENS": "length", "TOOL_CALL": "tool_calls"}
_FAILURES = ("ERROR", "ERROR_TOXIC", "ERROR_LIMIT", "TIMEOUT")


class CohereChat:
    """One model of Cohere's."""

    def __init__(self, model: str, endpoint: Endpoint, *, context_tokens: int = 0) -> None:
        if not model:
            raise ConfigError("the model of cohere is not named", remedy="Write it as cohere:model-name.")
        self._model = model
        self._remote = Remote(endpoint)
        self._context_tokens = context_tokens or load_table().context(self.name)

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> CohereChat:
        context = settings.context_tokens or load_table(settings.models_file).context(name)
        return cls(name.partition(":")[2], endpoint_for(PROVIDER, settings, native=True), context_tokens=context)

    @property
    def name(self) -> str:
        return f"{PROVIDER}:{self._model}"

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def calls_tools(self) -> bool:
        return True

    def chat(self, request: ChatRequest, *, deadline: Deadline) -> Iterator[Piece]:
        """The reply as it comes. A stream that ends without saying so has broken."""
        lines = self._remote.lines("v2/chat", self._body(request), deadline=deadline)
        yield from _read(stream_events(PROVIDER, lines))

    def close(self) -> None:
        self._remote.close()

    def _body(self, request: ChatRequest) -> dict[str, Any]:
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


def _read(events: Iterator[Mapping[str, Any]]) -> Iterator[Piece]:
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
