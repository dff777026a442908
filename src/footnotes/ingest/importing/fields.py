"""Finds a record's document, its order there, page, headings and names in its metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.names import safe_filename
from footnotes.parse.outline import DEEPEST, clean_title

NO_GROUPS = "-"
"""Instead of a field to group by: every record is a document."""
SOURCES = (
    "source", "sourceFile", "source_file", "file_path", "filePath", "filepath", "path", "url", "uri", "file_name",
    "fileName", "filename", "sourceId", "source_id", "ref_doc_id", "document_id", "documentId", "doc_id", "docId",
)  # fmt: skip
MOST_PAGES = 2**31 - 2
_FILE_NAMES = ("file_name", "fileName", "filename")
_NO_SOURCE = frozenset(["", "None", "null", "blob"])
"""LlamaIndex writes `None` for a node without a document, LangChain `blob` for a file without a name."""
_NUMBERS = (
    "chunk_index", "chunkIndex", "chunk_number", "chunk_no", "chunk_id", "chunk", "seq_num", "sequence", "split_id",
    "split_idx", "_split_id", "node_index", "index", "position", "order",
)  # fmt: skip
_STARTS = ("start_index", "start_char_idx", "start_char", "char_start", "start")
_LINES = ("loc.lines.from", "start_line", "line_start", "line")
_PAGES_FROM_ONE = ("page_number", "pageNumber", "page_no", "loc.pageNumber")
_HEADER = re.compile(r"(?:Header|header|h|H)[ _]?([1-6])")
_HEADING_LISTS = ("headings", "dl_meta.headings", "header_path", "section", "heading", "section_title")
TEXT_FIELDS = (
    "page_content", "pageContent", "text", "content", "document", "body", "chunk", "chunk_text", "passage",
)  # fmt: skip
_NODE = "_node_content"
_NODE_PLACES = ("start_char_idx", "end_char_idx")
_CANNOT_BE_KEPT = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Order:
    """The position of a record in its document, as far as known.

    `from_zero` means that pages count from 0, `paged` that the record names a page, as a number or not.
    """

    page: int | None = None
    number: float | None = None
    start: float | None = None
    line: float | None = None
    paged: bool = False
    from_zero: bool = False


def group_of(metadata: Mapping[str, object], group_by: str = "") -> str | None:
    """Return the document of a record; None if its metadata names none."""
    if group_by == NO_GROUPS:
        return None
    for name in [group_by] if group_by else SOURCES:
        value = field_of(metadata, name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip() not in _NO_SOURCE:
            return str(value)
    return None


def order_of(metadata: Mapping[str, object]) -> Order:
    """Return the position of a record in its document."""
    page, from_zero = _page(metadata)
    return Order(
        page=page,
        number=_first_number(metadata, _NUMBERS),
        start=_first_number(metadata, _STARTS),
        line=_first_number(metadata, _LINES),
        paged=page is not None or metadata.get("page_label") is not None,
        from_zero=from_zero,
    )


def _page(metadata: Mapping[str, object]) -> tuple[int | None, bool]:
    """Return the page, and whether it surely counts from 0: LangChain's loaders do, and write a page label too."""
    if (number := _whole(_first_number(metadata, _PAGES_FROM_ONE))) is not None:
        return number, False
    label = metadata.get("page_label")
    if (page := _whole(_number(metadata.get("page")))) is not None:
        return page, page == 0 or label is not None
    return _whole(_number(label)), False


def headings_of(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return the headings above a record: `Header 1`, `Header 2` …, a path, or a list."""
    numbered = {int(match[1]): value for key, value in metadata.items() if (match := _HEADER.fullmatch(str(key)))}
    found: list[object] = [numbered[level] for level in sorted(numbered)]
    for name in _HEADING_LISTS if not found else ():
        value = field_of(metadata, name)
        if isinstance(value, str):
            value = value.strip("/").split("/") if name == "header_path" else [value]
        if isinstance(value, list) and value:
            found = value
            break
    titles = (clean_title(title) for title in found if isinstance(title, str))
    return tuple(title for title in titles if title)[:DEEPEST]


def filename_of(metadata: Mapping[str, object], group: str | None, record_id: str) -> str:
    """Return the file name of a document."""
    for name in _FILE_NAMES:
        value = metadata.get(name)
        if isinstance(value, str) and value.strip():
            return safe_filename(value)
    if group is None:
        return safe_filename(record_id)
    if "://" in group:
        with suppress(ValueError):  # not an address
            address = urlsplit(group)
            return safe_filename(unquote(address.path).rstrip("/") or address.netloc)
    return safe_filename(group.rstrip("/\\"))


def title_of(metadata: Mapping[str, object], filename: str) -> str:
    """Return the title of a document: the one its records share, else its file name."""
    title = metadata.get("title")
    if isinstance(title, str) and title.strip():
        return clean_title(title)
    return filename.rpartition(".")[0] or filename


def _first_number(metadata: Mapping[str, object], names: tuple[str, ...]) -> float | None:
    for name in names:
        if (number := _number(field_of(metadata, name))) is not None:
            return number
    return None


def _number(value: Any) -> float | None:
    """Return a number that is not negative, also from text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        return float(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**53 else None


def _whole(number: float | None) -> int | None:
    """Return the number as a page; None if no store can hold it."""
    return int(number) if number is not None and number.is_integer() and number < MOST_PAGES else None


# Finds the text and the metadata of a record as other tools write them.
#
# LangChain writes `page_content` (in JavaScript `pageContent`) and `metadata`; LlamaIndex writes the whole node as
# JSON in `_node_content`; others write plain fields.


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
