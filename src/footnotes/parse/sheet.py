"""Workbooks → parts: Excel old and new, and OpenDocument."""

from __future__ import annotations

import datetime
import string
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.archive import open_archive
from footnotes.parse.builder import Builder
from footnotes.parse.office_metadata import core_of_archive
from footnotes.types import JsonValue, Metadata, Part, Report


class SheetParser:
    """Reads each sheet as a table under its name; blocks know their sheet and range of cells."""

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
        workbook, metadata = _opened(source)
        builder = Builder()
        stated = metadata.get("title")
        builder.stated, builder.stated_wins = stated if isinstance(stated, str) else None, True
        sheets = 0
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            if sheet.height:
                sheets += 1
                builder.heading(1, name)
                yield from builder.table(_rows(sheet), _located(sheet, name))
                yield from builder.full()
        yield from builder.finish()
        if not builder.tables:
            raise EmptyDocument(f"{source.filename} has no cells with content")
        metadata["sheets"] = sheets
        yield Report(self.name, source.mime, builder.position, title=builder.stated, metadata=metadata)


def _opened(source: Source) -> tuple[Any, dict[str, JsonValue]]:
    """The workbook, and what it says of itself."""
    import python_calamine

    metadata: dict[str, JsonValue] = {}
    if source.mime != types.XLS:
        with open_archive(source) as archive:
            metadata = core_of_archive(archive)
    try:
        return python_calamine.load_workbook(str(source.path)), metadata
    except python_calamine.PasswordError as error:
        raise EncryptedDocument(f"{source.filename} is protected by a password") from error
    except (python_calamine.CalamineError, OSError) as error:
        raise ParseError(f"{source.filename} is not a workbook that can be read: {error}") from error


def _rows(sheet: Any) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        yield [_shown(value) for value in row]


def _shown(value: Any) -> str:
    """A cell as a reader would see it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="seconds")
    return str(value)


def _located(sheet: Any, name: str) -> Any:
    """Rows by number → the range of cells. Rows are counted from the sheet's first, columns from the first used."""
    _, left = sheet.start or (0, 0)
    right = column_name(left + max(sheet.width, 1) - 1)

    def locate(first: int, last: int) -> Metadata:
        return {"sheet": name, "range": f"{column_name(left)}{first + 1}:{right}{last + 1}"}

    return locate


def column_name(index: int) -> str:
    """0 → A, 25 → Z, 26 → AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = string.ascii_uppercase[rest] + letters
    return letters
