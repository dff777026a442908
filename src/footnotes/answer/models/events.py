"""Reads streams of providers: events as objects, and tool calls that arrive in parts."""

from __future__ import annotations

from collections.abc import Iterator

from footnotes.answer.models import ToolCall
from footnotes.answer.models.openai import as_dict, parse_arguments, parse_object

__all__ = ["Calls", "as_dict", "as_int", "stream_events"]


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
