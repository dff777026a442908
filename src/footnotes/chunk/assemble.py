"""Adds context to pieces: heading path, pages, tokens and the prefix."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from footnotes.text.tokens import count_tokens
from footnotes.types import Block, JsonValue, Metadata, Part, Piece

_LONGEST_TITLE = 100
_LONGEST_SECTION = 200
_LONGEST_HEADER = 400
_PLACES = frozenset(["slide", "notes", "sheet", "range", "rows", "cell", "output", "language", "ocr", "margin"])


@dataclass(frozen=True, slots=True)
class AssembledChunk:
    """A piece completed from the blocks it covers; the pipeline adds its identity. `tokens` is 0 if not counted."""

    start: int
    end: int
    pages: tuple[int, int] | None
    headings: tuple[str, ...]
    tokens: int
    prefix: str
    metadata: Metadata
    parts: tuple[tuple[int, int], ...] = ()


def assemble(pieces: Iterable[Piece], part: Part, *, title: str, count: bool = True) -> Iterator[AssembledChunk]:
    """Complete the pieces of a part, in order. Without `count`, only tokens that the chunker knows are stated."""
    starts = [block.start for block in part.blocks]
    for piece in pieces:
        blocks = _covered_blocks(part.blocks, starts, piece)
        headings = _heading_path(blocks)
        yield AssembledChunk(
            piece.start,
            piece.end,
            _pages(blocks),
            headings,
            piece.tokens or (count_tokens(_text(part, piece)) if count else 0),
            _prefix(title, headings, part, piece, blocks),
            {**_attributes(blocks), **_with_page_starts(piece, blocks)},
            piece.parts,
        )


def _with_page_starts(piece: Piece, blocks: Sequence[Block]) -> Metadata:
    """Return the piece's metadata. If it spans pages, add `page_starts`: its first character on each page."""
    starts: dict[int, int] = {}
    for block in blocks:
        if block.page is not None:
            starts.setdefault(block.page, max(block.start, piece.start))
    if len(starts) < 2:
        return piece.metadata
    return {**piece.metadata, "page_starts": [[page, start] for page, start in starts.items()]}


def _text(part: Part, piece: Piece) -> str:
    return part.text[piece.start - part.start : piece.end - part.start]


def _covered_blocks(blocks: Sequence[Block], starts: list[int], piece: Piece) -> Sequence[Block]:
    first = max(0, bisect_right(starts, piece.start) - 1)
    last = bisect_right(starts, piece.end - 1)
    if first < last and blocks[first].end <= piece.start:
        first += 1
    return blocks[first:last]


def _heading_path(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the path of the first block that is not a heading, or of the last heading if all are headings."""
    for block in blocks:
        if block.kind != "heading":
            return block.headings
    return blocks[-1].headings if blocks else ()


def _pages(blocks: Sequence[Block]) -> tuple[int, int] | None:
    pages = [block.page for block in blocks if block.page is not None]
    return (min(pages), max(pages)) if pages else None


def context_prefix(title: str, headings: Sequence[str]) -> str:
    """Return `[Document: title | Section: a > b]`, without the section part if there are no headings."""
    sections = list(headings[1:] if headings and headings[0] == title else headings)
    while len(sections) > 1 and len(" > ".join(sections)) > _LONGEST_SECTION:
        del sections[0]
    document = f"Document: {_one_line(title, _LONGEST_TITLE)}"
    if not sections:
        return f"[{document}]"
    return f"[{document} | Section: {_one_line(' > '.join(sections), _LONGEST_SECTION)}]"


def _prefix(title: str, headings: Sequence[str], part: Part, piece: Piece, blocks: Sequence[Block]) -> str:
    """Join title and sections, the chunker's own prefix, and the header row if the piece begins inside a table."""
    lines = [context_prefix(title, headings), piece.prefix]
    header = blocks[0].attributes.get("header") if blocks and blocks[0].kind == "table" else None
    if isinstance(header, str) and header and not _text(part, piece).startswith(header):
        lines.append(header[:_LONGEST_HEADER])
    return "\n".join(line for line in lines if line)


def _attributes(blocks: Sequence[Block]) -> dict[str, JsonValue]:
    """Return the attributes of the first block that is not a heading: its slide, sheet, cells, language."""
    block = next((each for each in blocks if each.kind != "heading"), None)
    if block is None:
        return {}
    return {key: value for key, value in block.attributes.items() if key in _PLACES}


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text[: longest * 4].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
