"""The JSON of an inspection, as `--json` prints it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from footnotes.chunk.assemble import AssembledChunk
from footnotes.inspect.examine import Inspection
from footnotes.text.lines import LineCounter
from footnotes.types import Block


def inspection_to_json(found: Inspection) -> dict[str, Any]:
    """The JSON without the whole text; `start` and `end` are offsets in it, and chunks have their own text."""
    text, metadata = found.text, found.report.metadata
    lines = LineCounter(text)
    return {
        "file": str(found.path),
        "bytes": found.bytes,
        "type": {"content": found.mime, "name": found.promised, "agree": found.promised in (None, found.mime)},
        "parser": found.report.parser,
        "title": found.title,
        "author": metadata.get("author"),
        "created": metadata.get("created"),
        "modified": metadata.get("modified"),
        "metadata": dict(metadata),
        "characters": len(text),
        "tables": found.tables,
        "images": found.images,
        "page_count": found.report.pages,
        "pages": [asdict(page) for page in found.pages],
        "pages_without_text": list(found.report.pages_without_text),
        "ocr_pages": found.ocr_pages,
        "dropped": list(found.warnings),
        "headings": [_heading(block) for block in found.headings],
        "blocks": _kinds(found),
        "chunker": {"name": found.chunker, "options": dict(found.chunker_options)},
        "chunks": [_chunk(index, made, found, text, lines) for index, made in enumerate(found.chunks)],
    }


def _heading(block: Block) -> dict[str, Any]:
    title = block.headings[-1] if block.headings else ""
    return {"level": block.level, "title": title, "page": block.page, "start": block.start, "end": block.end}


def _kinds(found: Inspection) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for block in found.blocks:
        kinds[block.kind] = kinds.get(block.kind, 0) + 1
    return kinds


def _chunk(index: int, made: AssembledChunk, found: Inspection, text: str, lines: LineCounter) -> dict[str, Any]:
    return {
        "index": index,
        "total": len(found.chunks),
        "start": made.start,
        "end": made.end,
        "lines": list(lines.span(made.start, made.end)),
        "pages": list(made.pages) if made.pages else None,
        "headings": list(made.headings),
        "tokens": made.tokens,
        "prefix": made.prefix,
        "metadata": dict(made.metadata),
        "text": text[made.start : made.end],
    }
