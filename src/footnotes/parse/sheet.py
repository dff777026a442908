"""Parses workbooks: Excel old and new, and OpenDocument."""

from __future__ import annotations

import datetime
import re
import string
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError, ParseLimit
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.office_metadata import core_of_archive
from footnotes.types import JsonValue, Metadata, Part, Report

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

MOST_CELLS = 30_000_000
"""The maximum number of cells in a sheet, including empty ones."""
_CELL = re.compile(rb'<(?:\w+:)?c\s+r="([A-Z]{1,3})(\d{1,7})"')
_BLOCK, _LONGEST_CELL = 1 << 20, 64


class SheetParser:
    """Reads each sheet as a table under its name; blocks contain their sheet and range of cells."""

    name: ClassVar[str] = "sheet"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.XLSX, types.XLSB, types.XLS, types.ODS)
    suffixes: ClassVar[Mapping[str, str]] = {
        ".xlsx": types.XLSX,
        ".xlsm": types.XLSX,
        ".xlsb": types.XLSB,
        ".xls": types.XLS,
        ".ods": types.ODS,
    }
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        workbook, metadata = _open(source)
        builder = Builder()
        title = metadata.get("title")
        builder.stated, builder.stated_wins = title if isinstance(title, str) else None, True
        sheets = 0
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            if sheet.height:
                sheets += 1
                builder.heading(1, name)
                yield from builder.table(_rows(sheet), _locate(sheet, name))
                yield from builder.full()
        yield from builder.finish()
        if not builder.tables:
            raise EmptyDocument(f"{source.filename} has no cells with content")
        metadata["sheets"] = sheets
        yield Report(self.name, source.mime, builder.position, title=builder.stated, metadata=metadata)


def _open(source: Source) -> tuple[CalamineWorkbook, dict[str, JsonValue]]:
    """Return the workbook and its metadata."""
    import python_calamine

    metadata: dict[str, JsonValue] = {}
    if source.mime != types.XLS:
        with open_archive(source) as archive:
            metadata = core_of_archive(archive)
            if source.mime == types.XLSX:
                _check_extents(source.filename, archive)
    try:
        return python_calamine.load_workbook(str(source.path)), metadata
    except python_calamine.PasswordError as error:
        raise EncryptedDocument(f"{source.filename} is protected by a password") from error
    except (python_calamine.CalamineError, OSError) as error:
        raise ParseError(f"{source.filename} is not a workbook that can be read: {error}") from error


def _check_extents(filename: str, archive: zipfile.ZipFile) -> None:
    """Check the rectangle around a sheet's cells: two cells in far corners would take more than any memory."""
    for name in archive.namelist():
        if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
            continue
        rows, columns = _Extent(), _Extent()
        with archive.open(name) as file:
            rest = b""
            while block := file.read(_BLOCK):
                for column, row in _CELL.findall(rest + block):
                    rows.take(int(row))
                    columns.take(_column(column))
                rest = block[-_LONGEST_CELL:]
        if rows.size * columns.size > MOST_CELLS:
            raise ParseLimit(
                f"a sheet of {filename} spans {rows.size:,} rows and {columns.size:,} columns",
                remedy="Move the cells that are far from all others, and save the workbook again.",
            )


@dataclass(slots=True)
class _Extent:
    first: int = 0
    last: int = 0

    def take(self, place: int) -> None:
        self.first, self.last = min(self.first or place, place), max(self.last, place)

    @property
    def size(self) -> int:
        return self.last - self.first + 1 if self.first else 0


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _rows(sheet: CalamineSheet) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        yield [_format(value) for value in row]


def _format(value: object) -> str:
    """Format a cell as a reader would see it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="seconds")
    return str(value)


def _locate(sheet: Any, name: str) -> Any:
    """Return the range of cells of numbered rows. Rows count from the sheet's first, columns from the first used."""
    _, left = sheet.start or (0, 0)
    right = column_name(left + max(sheet.width, 1) - 1)

    def locate(first: int, last: int) -> Metadata:
        return {"sheet": name, "range": f"{column_name(left)}{first + 1}:{right}{last + 1}"}

    return locate


def column_name(index: int) -> str:
    """Convert 0 to A, 25 to Z, 26 to AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = string.ascii_uppercase[rest] + letters
    return letters
