"""Parses Jupyter notebooks: the cells in order, with their output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from footnotes.errors import EmptyDocument, ParseError
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.builder import Builder
from footnotes.parse.decode import characters, detect_encoding
from footnotes.parse.markdown import markdown_blocks, plain_title
from footnotes.types import JsonValue, Part, Report

_LONGEST_OUTPUT = 10_000


class NotebookParser:
    """Reads Markdown cells as Markdown and code cells as code; blocks contain the number of their cell."""

    name: ClassVar[str] = "notebook"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.NOTEBOOK,)
    suffixes: ClassVar[Mapping[str, str]] = {".ipynb": types.NOTEBOOK}
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.path)
        try:
            notebook = json.loads("".join(characters(source.path, encoding)))
            cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
            language = str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))
            cells = [cell for cell in cells if isinstance(cell, dict)]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise ParseError(f"{source.filename} is not a notebook that can be read: {error}") from error
        builder = Builder()
        for number, cell in enumerate(cells, start=1):
            _read_cell(builder, cell, number, language)
            yield from builder.full()
        yield from builder.finish()
        if not builder.position:
            raise EmptyDocument(f"{source.filename} has no cells with content")
        metadata: dict[str, JsonValue] = {"cells": len(cells), "language": language[:40]}
        yield Report(self.name, source.mime, builder.position, title=builder.title, metadata=metadata)


def _read_cell(builder: Builder, cell: dict[str, Any], number: int, language: str) -> None:
    text = _join(cell.get("source", cell.get("input", "")))
    place: dict[str, JsonValue] = {"cell": number}
    if cell.get("cell_type") == "markdown":
        for kind, level, piece in markdown_blocks(text):
            if kind == "heading":
                builder.heading(level, plain_title(piece.lstrip("# ")))
            else:
                builder.add(kind, piece, attributes=place)
    elif cell.get("cell_type") == "code":
        builder.add("code", text, attributes={**place, "language": language[:40]})
        for output in cell.get("outputs", []):
            output_text = _output(output) if isinstance(output, dict) else ""
            builder.add("code", output_text[:_LONGEST_OUTPUT], attributes={**place, "output": True})
    else:
        builder.add("paragraph", text, attributes=place)


def _output(output: dict[str, object]) -> str:
    """Return the text output of a cell; images have none."""
    data = output.get("data")
    if isinstance(data, dict):
        return _join(data.get("text/plain", ""))
    return _join(output.get("text", "")) or _join(output.get("evalue", ""))


def _join(value: object) -> str:
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""
