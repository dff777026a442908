"""The wire format: what `--json` prints and the server sends. JSON and its schemas come from the dataclasses alone.

The JSON of a dataclass has its fields and its properties, by their names. A field whose metadata says `json` has that
name instead, or is left out where it says None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

from footnotes.types import Event

_CARRIED = {"token": "text", "done": "answer"}
"""What an event carries, where it is not called as the event is."""


def to_json(value: Any) -> Any:
    """A value as what JSON knows: objects, lists, texts, numbers, booleans and null."""
    if isinstance(value, Mapping):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(one) for one in value]
    if isinstance(value, Event):
        return _event(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, attribute)) for name, attribute in _attributes(type(value)).items()}
    return value


def _event(event: Event) -> dict[str, Any]:
    """`type` and the one thing the event carries; with an error what had come of the answer."""
    carried = _CARRIED.get(event.type, event.type)
    shown = {"type": event.type, carried: to_json(getattr(event, carried))}
    if event.type == "error" and event.answer:
        shown["answer"] = to_json(event.answer)
    return shown


@cache
def _attributes(kind: Any) -> dict[str, str]:
    """The names in the JSON of a dataclass, and the attributes they stand for."""
    named = {str(field.metadata.get("json", field.name)): field.name for field in fields(kind)}
    named.pop("None", None)
    return named | {name: name for name in _properties(kind)}


def _properties(kind: type) -> list[str]:
    return [name for base in reversed(kind.__mro__) for name, one in vars(base).items() if isinstance(one, property)]


def json_types(kind: Any) -> dict[str, Any]:
    """The names in the JSON of a dataclass, and the types of their values."""
    hints = get_type_hints(kind)
    return {
        name: hints[attribute] if attribute in hints else get_type_hints(getattr(kind, attribute).fget)["return"]
        for name, attribute in _attributes(kind).items()
    }
