"""Reads records from a JSON array of objects or JSON Lines, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from footnotes.errors import ImportFormatError, SourceUnreadable
from footnotes.ingest.importing.json_stream import LONGEST, SHAPES, array_elements, format_error, reject_constant
from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.names import as_text, lasting

_VECTORS = ("embedding", "vector", "embeddings", "values")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonReader:
    """`json:FILE`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.origin = f"json:{as_text(lasting(path))}"
        self.notes: list[str] = []

    def __enter__(self) -> JsonReader:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open outside of `records`."""

    def count(self) -> int:
        return 0

    def records(self) -> Iterator[SourceRecord]:
        try:
            for number, value in enumerate(self._values(), start=1):
                yield _to_record(value, number)
        except OSError as error:
            raise SourceUnreadable(f"{self._path} cannot be read ({error.strerror})") from error

    def _values(self) -> Iterator[object]:
        with self._path.open("rb") as file:
            if _first_character(file) != b"[":
                file.seek(0)
                yield from _parse_lines(file)
                return
        with self._path.open(encoding="utf-8-sig", errors="surrogateescape") as text:
            yield from array_elements(text)


def _first_character(file: BinaryIO) -> bytes:
    """The first character that is neither white space nor a byte order mark."""
    while byte := file.read(1):
        if not byte.isspace() and byte not in _BYTE_ORDER_MARK:
            return byte
    raise ImportFormatError("the file is empty", remedy=SHAPES)


def _parse_lines(file: BinaryIO) -> Iterator[object]:
    for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise format_error(f"line {number}", f"longer than {LONGEST:,} bytes")
        if not line.strip():
            continue
        try:
            yield json.loads(line, parse_constant=reject_constant)
        except (ValueError, RecursionError) as error:
            raise format_error(f"line {number}", error) from error


def _to_record(value: object, number: int) -> SourceRecord:
    if not isinstance(value, Mapping):
        raise ImportFormatError(f"record {number} is not an object", remedy=SHAPES)
    if value.get("type") == "footnotes-export":
        raise ImportFormatError("the file is an export of Footnotes", remedy="Import it without --from.")
    fields = _unwrap(value)
    name = next((name for name in _VECTORS if isinstance(fields.get(name), list)), None)
    payload = {key: item for key, item in fields.items() if key not in (name, "id")}
    if payload.get("type") == "Document" and "metadata" in payload:
        del payload["type"]  # LangChain's word for what every record is
    record_id = fields.get("id")
    shown = str(record_id) if isinstance(record_id, (str, int)) and str(record_id) else f"record {number}"
    return SourceRecord(shown, payload, None, fields[name] if name else None)


def _unwrap(value: Mapping[str, object]) -> Mapping[str, Any]:
    """Unwrap a document of LangChain, which serialises the arguments of its constructor."""
    arguments = value.get("kwargs")
    return arguments if "lc" in value and isinstance(arguments, Mapping) else value
