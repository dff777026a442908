"""Reads records from a JSON array of objects or JSON Lines, one record at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO

from footnotes.errors import ImportFormatError, SourceUnreadable
from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.names import as_text, lasting

_VECTORS = ("embedding", "vector", "embeddings", "values")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLOCK = 1 << 20
LONGEST = 1 << 28
"""The most characters of a record."""
SHAPES = "Pass a JSON array or JSON Lines of objects such as {pageContent, metadata}; see docs/import.md."
_AT_THE_END = 32
"""A value that the window cuts off fails this close to the end, unless it is a string."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NOT_UNICODE = re.compile(r"[\udc80-\udcff]")


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
    """Return the first character that is neither white space nor a byte order mark."""
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
        del payload["type"]  # LangChain's type of every record
    record_id = fields.get("id")
    shown = str(record_id) if isinstance(record_id, (str, int)) and str(record_id) else f"record {number}"
    return SourceRecord(shown, payload, None, fields[name] if name else None)


def _unwrap(value: Mapping[str, object]) -> Mapping[str, Any]:
    """Unwrap a document of LangChain, which serialises the arguments of its constructor."""
    arguments = value.get("kwargs")
    return arguments if "lc" in value and isinstance(arguments, Mapping) else value


# Reads the elements of a JSON array of any length, one at a time; errors name the number of the broken one.
#
# `ijson` stores a path for every level: a few bytes of only brackets use up all memory. Here a window slides over the
# file, and the decoder of the standard library reads one value at its beginning.


def format_error(place: str, reason: object) -> ImportFormatError:
    message = " ".join(str(reason).partition("\n")[0].split())[:100] or type(reason).__name__
    return ImportFormatError(f"{place} is not JSON ({message})", remedy=SHAPES)


def reject_constant(name: str) -> NoReturn:
    """Raise: JSON has neither NaN nor infinity, although Python writes them."""
    raise ValueError(f"{name} is not a JSON number")


def array_elements(file: TextIO) -> Iterator[object]:
    """Yield the elements of an array. The file must be opened with `errors="surrogateescape"`."""
    window, number = _Window(file), 1
    if window.next() != "[":
        raise format_error("record 1", "no array")
    window.skip()
    if window.next() != "]":
        while True:
            yield window.value(number)
            number += 1
            following = window.next()
            if following == "]":
                break
            if following != ",":
                raise format_error(f"record {number}", "a comma or the end of the array is missing before it")
            window.skip()
    window.skip()
    if window.next():
        raise format_error(f"record {number}", "something follows the end of the array")


class _Window:
    """A part of a text. More is read while the value at its beginning is incomplete."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=reject_constant)

    def next(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def value(self, number: int) -> object:
        """Read the value at the position; `number` is for the error."""
        self.next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if not isinstance(value, (int, float)) or end < len(self._text) - _AT_THE_END or not self._more():
                    break  # the digits of a number may continue
            except json.JSONDecodeError as error:
                if not self._may_be_cut_off(error) or not self._more():
                    raise format_error(f"record {number}", error.msg) from error
            except (ValueError, RecursionError) as error:
                raise format_error(f"record {number}", error) from error
            if len(self._text) > LONGEST:
                raise format_error(f"record {number}", f"longer than {LONGEST:,} characters")
        if _NOT_UNICODE.search(self._text, self._at, end):
            raise format_error(f"record {number}", "not UTF-8")
        self._at = end
        return value

    def _may_be_cut_off(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _AT_THE_END

    def _more(self) -> bool:
        """Read more, twice as much each time, so a long record is not parsed too often. False at the end."""
        if self._ended:
            return False
        rest = self._text[self._at :]
        block = self._file.read(max(BLOCK, len(rest)))
        if not block:
            self._ended = True
            return False
        self._text, self._at = rest + block, 0
        return True
