"""Parses comma- and tab-separated values, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from statistics import mode
from typing import ClassVar

from footnotes.errors import EmptyDocument
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import characters, detect_encoding
from footnotes.types import Metadata, Part, Report

_DELIMITERS = ",;\t|"
_SAMPLED_LINES = 50
_LONGEST_FIELD = 1 << 20
_UNCLOSED = "a quotation mark is never closed: the rows after it were read without quoting"


class TableParser:
    """Reads rows of any width; the first is the header for all. Blocks contain the numbers of their rows."""

    name: ClassVar[str] = "table"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.CSV, types.TSV)
    suffixes: ClassVar[Mapping[str, str]] = {".csv": types.CSV, ".tsv": types.TSV, ".tab": types.TSV}
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.path)
        lines = _lines(characters(source.path, encoding))
        sample = [line for line, _ in zip(lines, range(_SAMPLED_LINES), strict=False)]
        delimiter = "\t" if source.mime == types.TSV else guess_delimiter(sample)
        rows = _Rows(_lines(characters(source.path, encoding)), delimiter)
        builder = Builder()
        yield from builder.table(rows, _locate)
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no values")
        metadata: Metadata = {"rows": rows.count, "encoding": encoding.codec}
        warnings = (*encoding.warnings, *rows.warnings)
        yield Report(self.name, source.mime, builder.position, metadata=metadata, warnings=warnings)


def _locate(first: int, last: int) -> Metadata:
    return {"rows": f"{first + 1}-{last + 1}"}


def guess_delimiter(sample: list[str]) -> str:
    """Return the delimiter that cuts most lines into the same number of fields, and into more than one."""
    best, most = ",", (0, 0)
    for delimiter in _DELIMITERS:
        widths = [line.count(delimiter) for line in sample if line.strip()]
        usual = mode(widths) if widths else 0
        score = (sum(width == usual for width in widths) if usual else 0, usual)
        if score > most:
            best, most = delimiter, score
    return best


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    """Join pieces into lines with their ends."""
    pending: list[str] = []
    for piece in pieces:
        first, newline, rest = piece.partition("\n")
        pending.append(first + newline)
        if not newline:
            continue
        yield "".join(pending)
        complete = rest.split("\n")
        pending = [complete.pop()]
        for line in complete:
            yield line + "\n"
    if last := "".join(pending):
        yield last


class _Rows:
    """Yield rows of fields. If a quoted field never ends, cut lines at delimiters without regard to quotes."""

    def __init__(self, lines: Iterator[str], delimiter: str) -> None:
        self.count = 0
        self.warnings: tuple[str, ...] = ()
        self._delimiter = delimiter
        self._lines = lines
        self._since: list[str] = []

    def __iter__(self) -> Iterator[list[str]]:
        csv.field_size_limit(_LONGEST_FIELD)
        reader = csv.reader(self._record_lines(), delimiter=self._delimiter, strict=False)
        try:
            for row in reader:
                self._since.clear()
                self.count += 1
                yield row
        except csv.Error:
            self.warnings = (_UNCLOSED,)
            yield from self._split_unquoted()

    def _record_lines(self) -> Iterator[str]:
        """Yield the lines, and remember those of the current row."""
        for line in self._lines:
            self._since.append(line)
            yield line

    def _split_unquoted(self) -> Iterator[list[str]]:
        since, self._since = self._since, []
        for lines in (since, self._lines):
            for line in lines:
                self.count += 1
                yield line.rstrip("\n").split(self._delimiter)
