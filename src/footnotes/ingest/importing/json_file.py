"""Records in a file: an array of JSON objects, or JSON Lines. Read as they come, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from footnotes.errors import ImportFormatError, SourceUnreadable
from footnotes.ingest.importing.records import Found
from footnotes.ingest.names import as_text, lasting

_VECTORS = ("embedding", "vector", "embeddings", "values")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHAPES = "Give a JSON array or JSON Lines of objects such as {pageContent, metadata}; see docs/import.md."


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
            with self._path.open("rb") as file:
                values = _array(file) if _begins_with(file) == b"[" else _lines(file)
                for number, value in enumerate(values, start=1):
                    yield _found(value, number)
        except OSError as error:
            raise SourceUnreadable(f"{self._path} cannot be read ({error.strerror})") from error


def _begins_with(file: BinaryIO) -> bytes:
    """The first character that means something; the file stands there then."""
    while byte := file.read(1):
        if not byte.isspace() and byte not in _BYTE_ORDER_MARK:
            file.seek(-1, 1)
            return byte
    raise ImportFormatError("the file is empty", remedy=_SHAPES)


def _array(file: BinaryIO) -> Iterator[Any]:
    import ijson

    number = 0
    try:
        for value in ijson.items(file, "item", use_float=True):
            number += 1
            yield value
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise _broken(f"record {number + 1}", error) from error


def _lines(file: BinaryIO) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise _broken(f"line {number}", error) from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _broken(place: str, error: Exception) -> ImportFormatError:
    said = " ".join(str(error).partition("\n")[0].split())[:100] or type(error).__name__
    return ImportFormatError(f"{place} is not JSON ({said})", remedy=_SHAPES)


def _found(value: Any, number: int) -> Found:
    if not isinstance(value, Mapping):
        raise ImportFormatError(f"record {number} is not an object", remedy=_SHAPES)
    if value.get("type") == "footnotes-export":
        raise ImportFormatError("the file is an export of Footnotes", remedy="Import it without --from.")
    name = next((name for name in _VECTORS if isinstance(value.get(name), list)), None)
    payload = {key: item for key, item in value.items() if key != name and (key != "id" or "lc" in value)}
    if "metadata" in payload and payload.get("type") == "Document":
        del payload["type"]  # LangChain's word for what every record is
    record_id = value.get("id")
    shown = str(record_id) if isinstance(record_id, (str, int)) and str(record_id) else f"record {number}"
    return Found(shown, payload, None, value[name] if name else None)
