"""Records in a file: an array of JSON objects, or JSON Lines. Read as they come, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from footnotes.errors import ImportFormatError, SourceUnreadable
from footnotes.ingest.importing.json_stream import LONGEST, SHAPES, array_elements, broken, no_number
from footnotes.ingest.importing.records import Found
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
        """Nothing is held but while records are read."""

    def count(self) -> int:
        return 0

    def records(self) -> Iterator[Found]:
        try:
            for number, value in enumerate(self._values(), start=1):
                yield _found(value, number)
        except OSError as error:
            raise SourceUnreadable(f"{self._path} cannot be read ({error.strerror})") from error

    def _values(self) -> Iterator[Any]:
        with self._path.open("rb") as file:
            if _begins_with(file) != b"[":
                file.seek(0)
                yield from _lines(file)
                return
        with self._path.open(encoding="utf-8-sig", errors="surrogateescape") as text:
            yield from array_elements(text)


def _begins_with(file: BinaryIO) -> bytes:
    """The first character that means something."""
    while byte := file.read(1):
        if not byte.isspace() and byte not in _BYTE_ORDER_MARK:
            return byte
    raise ImportFormatError("the file is empty", remedy=SHAPES)


def _lines(file: BinaryIO) -> Iterator[Any]:
    for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise broken(f"line {number}", f"longer than {LONGEST:,} bytes")
        if not line.strip():
            continue
        try:
            yield json.loads(line, parse_constant=no_number)
        except (ValueError, RecursionError) as error:
            raise broken(f"line {number}", error) from error


def _found(value: Any, number: int) -> Found:
    if not isinstance(value, Mapping):
        raise ImportFormatError(f"record {number} is not an object", remedy=SHAPES)
    if value.get("type") == "footnotes-export":
        raise ImportFormatError("the file is an export of Footnotes", remedy="Import it without --from.")
    said = _unwrapped(value)
    name = next((name for name in _VECTORS if isinstance(said.get(name), list)), None)
    payload = {key: item for key, item in said.items() if key not in (name, "id")}
    if payload.get("type") == "Document" and "metadata" in payload:
        del payload["type"]  # LangChain's word for what every record is
    record_id = said.get("id")
    shown = str(record_id) if isinstance(record_id, (str, int)) and str(record_id) else f"record {number}"
    return Found(shown, payload, None, said[name] if name else None)


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """LangChain serialises a document as what makes one: its fields are the arguments."""
    arguments = value.get("kwargs")
    return arguments if "lc" in value and isinstance(arguments, Mapping) else value
