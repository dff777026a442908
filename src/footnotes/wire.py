"""The wire format: what `--json` prints and the server sends. JSON and its schemas come from the dataclasses alone.

The JSON of a dataclass has its fields and properties, by name. The field metadata `json` gives another name, or leaves
the field out if it is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from footnotes.types import Event

T = TypeVar("T")

_CARRIED = {"token": "text", "done": "answer"}
"""The fields of events that are not named like the event."""


def to_json(value: Any) -> Any:
    """Convert a value to JSON types: objects, lists, texts, numbers, booleans and null."""
    if isinstance(value, Mapping):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(one) for one in value]
    if isinstance(value, Event):
        return _event(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, attribute)) for name, attribute in _attributes(type(value)).items()}
    return value


def _event(event: Event) -> dict[str, object]:
    """Convert an event to `type` and its one field; an error also has the answer so far."""
    carried = _CARRIED.get(event.type, event.type)
    shown = {"type": event.type, carried: to_json(getattr(event, carried))}
    if event.type == "error" and event.answer:
        shown["answer"] = to_json(event.answer)
    return shown


@cache
def _attributes(kind: Any) -> dict[str, str]:
    """Return the attributes of a dataclass by their names in its JSON."""
    named = {str(field.metadata.get("json", field.name)): field.name for field in fields(kind)}
    named.pop("None", None)
    return named | {name: name for name in _properties(kind)}


def _properties(kind: type) -> list[str]:
    return [name for base in reversed(kind.__mro__) for name, one in vars(base).items() if isinstance(one, property)]


def json_types(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's values by their names in its JSON."""
    hints = get_type_hints(kind)
    return {
        name: hints[attribute] if attribute in hints else get_type_hints(getattr(kind, attribute).fget)["return"]
        for name, attribute in _attributes(kind).items()
    }


def from_json(kind: type[T], value: object) -> T:
    """Read a value of a type from its JSON, as `to_json` wrote it. Unknown names are ignored."""
    found: T = _read(kind, value)
    return found


def _read(kind: Any, value: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or value is None:
        return value
    if origin in (Union, UnionType):
        known = [part for part in parts if part is not NoneType]
        return _read(known[0], value) if len(known) == 1 else value
    if origin is tuple:
        kinds = [parts[0]] * len(value) if len(parts) == 2 and parts[1] is Ellipsis else parts
        return tuple(_read(part, one) for part, one in zip(kinds, value, strict=True))
    if origin is list:
        return [_read(parts[0], one) for one in value]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _read(parts[1], one) for key, one in value.items()}
    return _from_object(kind, value) if is_dataclass(kind) else value


def _from_object(kind: Any, value: Mapping[str, Any]) -> Any:
    hints, given = _hints(kind), {}
    for field in fields(kind):
        name = field.metadata.get("json", field.name)
        if name in value:
            given[field.name] = _read(hints[field.name], value[name])
    return kind(**given)


@cache
def _hints(kind: object) -> dict[str, object]:
    return get_type_hints(kind)
