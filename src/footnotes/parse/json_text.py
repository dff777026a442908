"""JSON and JSON Lines → parts: one line for each value, with the path that leads to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from footnotes.errors import EmptyDocument, ParseError, ParseLimit
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import characters, detect_encoding
from footnotes.types import Part, Report

_DEEPEST = 100
_BLOCK_CHARACTERS = 2_000
_SCALARS = frozenset(["string", "number", "boolean"])


class JsonParser:
    """Reads JSON as a stream of events, so memory does not grow with size."""

    name: ClassVar[str] = "json"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.JSON, types.JSON_LINES)
    suffixes: ClassVar[Mapping[str, str]] = {
        ".json": types.JSON,
        ".jsonl": types.JSON_LINES,
        ".ndjson": types.JSON_LINES,
    }
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        import ijson

        encoding = detect_encoding(source.readable)
        builder = Builder()
        warnings = list(encoding.warnings)
        text = _Bytes(characters(source.readable, encoding))
        records = _Records(builder, source.filename)
        try:
            for event, value in ijson.basic_parse(text, multiple_values=source.mime == types.JSON_LINES):
                records.take(event, value)
                yield from builder.full()
        except ijson.JSONError as error:
            records.flush()
            if not builder.position:
                raise ParseError(f"{source.filename} is not valid JSON: {error}") from error
            warnings.append(f"the JSON is damaged, and what follows the damage was left out: {error}")
        records.flush()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no values")
        yield Report(self.name, source.mime, builder.position, warnings=tuple(warnings))


class _Bytes:
    """Pieces of text as a file of bytes."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size or size < 0:
            piece = next(self._pieces, None)
            if piece is None:
                size = len(self._held)
                break
            self._held += piece.encode("utf-8", "replace")
        data, self._held = self._held[:size], self._held[size:]
        return data


class _Records:
    """Lines `path: value`, a block for each record or for some two thousand characters of one."""

    def __init__(self, builder: Builder, filename: str) -> None:
        self._builder = builder
        self._filename = filename
        self._lines: list[str] = []
        self._length = 0
        self._path: list[str] = []
        """The key of each open object or array; empty inside an array."""
        self._keys: list[str] = [""]

    def take(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._keys[-1] = value
        elif event in _SCALARS:
            self._line(value)
        elif event.startswith("start_"):
            self._path.append(self._keys[-1])
            self._keys.append("")
            if len(self._path) > _DEEPEST:
                raise ParseLimit(f"{self._filename} is nested more than {_DEEPEST} levels deep")
        elif event.startswith("end_"):
            self._path.pop()
            self._keys.pop()
        # A record ends with the document, or with one of the items of the array that the document is.
        ends_record = event == "end_map" and not any(self._path)
        if ends_record or self._length > _BLOCK_CHARACTERS:
            self.flush()

    def _line(self, value: object) -> None:
        path = ".".join(filter(None, (*self._path, self._keys[-1])))
        shown = _format(value)
        if shown.strip():
            line = f"{path}: {shown}" if path else shown
            self._lines.append(line)
            self._length += len(line)

    def flush(self) -> None:
        self._builder.add("paragraph", "\n".join(self._lines))
        self._lines, self._length = [], 0


def _format(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}" if abs(value.adjusted()) < 30 else str(value)
    return str(value)
