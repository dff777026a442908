"""Prints an inspection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from statistics import median

import click

from footnotes.chunk.assemble import AssembledChunk
from footnotes.inspect.examine import Inspection, PageFacts
from footnotes.render import one_line, shortened
from footnotes.text.lines import LineCounter
from footnotes.types import Block

_MOST_HEADINGS = 60
_MOST_PAGES = 60
_EXCERPT = 100


def show(found: Inspection) -> None:
    """Print the facts of the extraction, then the chunks."""
    click.secho(one_line(found.path.name), bold=True)
    for name, value in _facts(found):
        click.echo(f"{name:12} {value}")
    for warning in found.warnings:
        click.secho(f"{'note':12} {one_line(warning)}", fg="yellow")
    _show_headings(found)
    _show_pages(found)
    _show_chunks(found)


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    yield "type", _type(found)
    yield "size", f"{found.bytes:,} bytes"
    yield "title", one_line(found.title)
    for name in ("author", "created", "modified", "language"):
        if value := found.report.metadata.get(name):
            yield name, one_line(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    yield "text", f"{sum(len(part.text) for part in found.parts):,} characters, read by {found.report.parser}"
    if found.report.pages:
        yield "pages", _pages_line(found)
    kinds = Counter(block.kind for block in found.blocks)
    yield "blocks", ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    yield "tables", str(found.tables)
    if found.images is not None:
        yield (
            "images",
            f"{found.images:,}" + (" (their text is not read)" if found.images and not found.ocr_pages else ""),
        )


def _type(found: Inspection) -> str:
    if found.promised is None:
        return f"{found.mime} by its content; the name promises nothing"
    if found.promised == found.mime:
        return f"{found.mime}, by content and name"
    return f"{found.mime} by its content, but {found.promised} by its name"


def _pages_line(found: Inspection) -> str:
    line = f"{found.report.pages:,}"
    if without := found.report.pages_without_text:
        line += f", {len(without)} without text ({_list_numbers(list(without))})"
    if found.ocr_pages:
        line += f", {len(found.ocr_pages)} read by OCR ({_list_numbers(found.ocr_pages)})"
    return line


def _list_numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")


def _show_headings(found: Inspection) -> None:
    headings = found.headings
    click.secho(f"\nheadings ({len(headings)})", bold=True)
    for block in headings[:_MOST_HEADINGS]:
        page = f"  p. {block.page}" if block.page is not None else ""
        click.echo(f"{'  ' * min(block.level, 8)}{shortened(block.headings[-1] if block.headings else '')}{page}")
    _show_rest(len(headings), _MOST_HEADINGS)


def _show_pages(found: Inspection) -> None:
    if not found.pages:
        return
    click.secho("\npages", bold=True)
    click.echo("  page  characters  blocks  tables  images")
    for page in found.pages[:_MOST_PAGES]:
        images = "" if page.images is None else f"{page.images:,}"
        click.secho(
            f"{page.number:6}{page.characters:12,}{page.blocks:8}{page.tables:8}{images:>8}{_remark(page)}",
            fg="yellow" if not page.characters else None,
        )
    _show_rest(len(found.pages), _MOST_PAGES)


def _remark(page: PageFacts) -> str:
    if not page.characters:
        return "  no text"
    return "  read by OCR" if page.ocr else ""


def _show_chunks(found: Inspection) -> None:
    tokens = [chunk.tokens for chunk in found.chunks]
    sizes = f", {min(tokens)} to {max(tokens)} tokens, median {median(tokens):.0f}" if tokens else ""
    options = ", ".join(f"{key}={value}" for key, value in found.chunker_options.items())
    click.secho(f"\nchunks ({len(tokens):,} by {found.chunker}: {options}{sizes})", bold=True)
    text = found.text
    for number, chunk in enumerate(found.chunks, start=1):
        click.echo(f"{number:5}. {_format_place(chunk)}")
        click.secho(f"       {' '.join(one_line(line) for line in chunk.prefix.splitlines())}", dim=True)
        click.echo(f"       {shortened(text[chunk.start : chunk.end][:1000], _EXCERPT)}")


def _format_place(chunk: AssembledChunk) -> str:
    pages = ""
    if chunk.pages:
        first, last = chunk.pages
        pages = f"  p. {first}" if first == last else f"  pp. {first}–{last}"
    heading = f"  {shortened(' > '.join(chunk.headings))}" if chunk.headings else ""
    return f"{chunk.start}–{chunk.end}  {chunk.tokens} tokens{pages}{heading}"


def _show_rest(count: int, most: int) -> None:
    if count > most:
        click.echo(f"  … and {count - most:,} more (--json has all)")


# ── the JSON of an inspection, as `--json` prints it ──────────────────────────────────────────────────────────


def inspection_to_json(found: Inspection) -> dict[str, object]:
    """Return the JSON without the whole text; `start` and `end` are offsets in it, and chunks have their own text."""
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
        "chunks": [_chunk(index, chunk, found, text, lines) for index, chunk in enumerate(found.chunks)],
    }


def _heading(block: Block) -> dict[str, object]:
    title = block.headings[-1] if block.headings else ""
    return {"level": block.level, "title": title, "page": block.page, "start": block.start, "end": block.end}


def _kinds(found: Inspection) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for block in found.blocks:
        kinds[block.kind] = kinds.get(block.kind, 0) + 1
    return kinds


def _chunk(index: int, chunk: AssembledChunk, found: Inspection, text: str, lines: LineCounter) -> dict[str, object]:
    return {
        "index": index,
        "total": len(found.chunks),
        "start": chunk.start,
        "end": chunk.end,
        "lines": list(lines.span(chunk.start, chunk.end)),
        "pages": list(chunk.pages) if chunk.pages else None,
        "headings": list(chunk.headings),
        "tokens": chunk.tokens,
        "prefix": chunk.prefix,
        "metadata": dict(chunk.metadata),
        "text": text[chunk.start : chunk.end],
    }
