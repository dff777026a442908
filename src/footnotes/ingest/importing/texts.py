"""Finds the text and the metadata of a record as other tools write them.

LangChain writes `page_content` (in JavaScript `pageContent`) and `metadata`; LlamaIndex writes the whole node as
JSON in `_node_content`; others write plain fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from footnotes.ingest.importing.records import SourceRecord

TEXT_FIELDS = (
    "page_content", "pageContent", "text", "content", "document", "body", "chunk", "chunk_text", "passage",
)  # fmt: skip
_NODE = "_node_content"
_NODE_PLACES = ("start_char_idx", "end_char_idx")
_CANNOT_BE_KEPT = re.compile("[\x00\ud800-\udfff]")


def text_and_metadata(found: SourceRecord, text_field: str = "") -> tuple[str | None, dict[str, object]]:
    """Return the text of a record, None if it has none, and its metadata."""
    text, rest = _find_text(found, dict(found.payload), text_field)
    return (clean_text(text) if text and text.strip() else None), _flatten_metadata(_node_metadata(rest))


def clean_text(text: str) -> str:
    """Replace characters that no store can hold; the length stays."""
    return _CANNOT_BE_KEPT.sub("\ufffd", text)


def field_of(values: Mapping[str, object], name: str) -> object:
    """Return the value of a field; `a.b` also means `b` inside `a`."""
    if name in values:
        return values[name]
    outer, dot, inner = name.partition(".")
    deeper = values.get(outer) if dot else None
    return field_of(deeper, inner) if isinstance(deeper, Mapping) else None


def _find_text(
    found: SourceRecord, payload: dict[str, object], text_field: str
) -> tuple[str | None, dict[str, object]]:
    if text_field:
        value = field_of(payload, text_field)
        return (value if isinstance(value, str) else None), _without(payload, text_field)
    if isinstance(found.text, str) and found.text.strip():
        return found.text, payload
    if (node := _node(payload)) is not None and (text := _node_text(node)):
        return text, payload
    for name in TEXT_FIELDS:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return value, _without(payload, name)
    return None, payload


def _without(payload: dict[str, object], name: str) -> dict[str, object]:
    if name in payload:
        return {key: value for key, value in payload.items() if key != name}
    outer, _, inner = name.partition(".")
    deeper = payload.get(outer)
    return {**payload, outer: _without(dict(deeper), inner)} if isinstance(deeper, Mapping) else payload


def _node(payload: Mapping[str, object]) -> dict[str, object] | None:
    packed = payload.get(_NODE)
    if isinstance(packed, str):
        with suppress(ValueError, RecursionError):
            packed = json.loads(packed)
    return packed if isinstance(packed, dict) else None


def _node_text(node: Mapping[str, object]) -> str | None:
    for value in (node.get("text"), field_of(node, "text_resource.text")):
        if isinstance(value, str) and value.strip():
            return value
    return None


def _node_metadata(payload: dict[str, object]) -> dict[str, object]:
    """Replace the JSON of a LlamaIndex node by its metadata and offsets."""
    if (node := _node(payload)) is None:
        return payload
    metadata = node.get("metadata")
    places = {name: node[name] for name in _NODE_PLACES if node.get(name) is not None}
    rest = {key: value for key, value in payload.items() if key != _NODE}
    return {**places, **(metadata if isinstance(metadata, Mapping) else {}), **rest}


def _flatten_metadata(payload: dict[str, object]) -> dict[str, object]:
    """Merge other fields into `metadata`, unless a name occurs in both."""
    inner = payload.get("metadata")
    beside = {key: value for key, value in payload.items() if key != "metadata"}
    if inner is None:
        return beside
    return {**inner, **beside} if isinstance(inner, Mapping) and not set(inner) & set(beside) else payload
