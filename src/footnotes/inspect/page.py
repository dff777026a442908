"""Renders an inspection as one self-contained HTML page: blocks and chunk boundaries on the text and on the pages.

All text of the document is escaped and never markup, and the page forbids scripts, frames and requests.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from footnotes.chunk.assemble import AssembledChunk
from footnotes.errors import FootnotesError
from footnotes.inspect.examine import Inspection, is_drawn
from footnotes.parse.pdf_boxes import Box
from footnotes.parse.pdf_pages import PagePicture, page_picture
from footnotes.types import Block

COLOURS = 6
_MOST_CHARACTERS = 400_000
_MOST_CHUNKS = 2_000
_PICTURE_WIDTH = 900
_DATES = ("created", "modified")
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d)?")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def html_page(found: Inspection, *, most_pages: int = 20) -> str:
    """Build the HTML report. Long documents are truncated with a note."""
    title = escape_text(found.path.name)
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_style()}</style>"
    )
    body = [
        f"<header><h1>{title}</h1>{_facts(found)}{_notes(found)}</header>",
        _controls(found),
        f"<main>{''.join(_document(found, most_pages))}</main>",
        _headings(found),
        _chunks(found),
    ]
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>'


def escape_text(text: str) -> str:
    """Escape a text, and remove characters that could draw or hide something."""
    visible = "".join(char if char.isprintable() or char in "\n\t" else _stand_in(char) for char in text)
    return escape(visible, quote=True)


def _stand_in(char: str) -> str:
    return char if char in "\u00a0\u3000\u200d" or (char.isspace() and ord(char) > 0x7F) else "\ufffd"


def _style() -> str:
    return (resources.files(__package__) / "page.css").read_text("utf-8")


# ── summary


def _facts(found: Inspection) -> str:
    metadata = found.report.metadata
    agree = found.promised in (None, found.mime)
    kind = escape_text(found.mime) + (
        "" if agree else f'<small class="odd">the name says {escape_text(str(found.promised))}</small>'
    )
    facts = [
        ("title", escape_text(found.title)),
        *((name, escape_text(_plain(metadata[name]))) for name in ("author", *_DATES) if metadata.get(name)),
        ("type", kind),
        ("text", f"{sum(len(part.text) for part in found.parts):,} characters"),
        *([("pages", _pages(found))] if found.report.pages else []),
        ("tables", f"{found.tables:,}"),
        *([("images", f"{found.images:,}")] if found.images is not None else []),
        ("chunks", _chunk_facts(found)),
    ]
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts) + "</dl>"


def _plain(value: object) -> str:
    """Format a value of the metadata for people: lists with commas, times without the T."""
    return _TIME.sub(r"\1 \2", ", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _pages(found: Inspection) -> str:
    without, ocr = len(found.report.pages_without_text), len(found.ocr_pages)
    remarks = [f"{without} without text"] * bool(without) + [f"{ocr} read by OCR"] * bool(ocr)
    note = f'<small class="odd">{", ".join(remarks)}</small>' if remarks else ""
    return f"{found.report.pages:,}{note}"


def _chunk_facts(found: Inspection) -> str:
    if not found.chunks:
        return "0"
    tokens = [chunk.tokens for chunk in found.chunks]
    sizes = f"{min(tokens)}–{max(tokens)} tokens, median {median(tokens):.0f}"
    return f"{len(tokens):,} by {escape_text(found.chunker)}<small>{sizes}</small>"


def _notes(found: Inspection) -> str:
    return "".join(f'<p class="note">{escape_text(warning)}</p>' for warning in found.warnings)


def _controls(found: Inspection) -> str:
    kinds = Counter(block.kind for block in found.blocks)
    legend = "".join(f'<span class="key {kind}">{kind} <b>{count:,}</b></span>' for kind, count in kinds.most_common())
    return (
        '<nav><fieldset class="switch"><label><input type="radio" name="view" id="both" checked>both</label>'
        '<label><input type="radio" name="view" id="blocks">blocks</label>'
        '<label><input type="radio" name="view" id="chunks">chunks</label></fieldset>'
        f'<span class="legend">{legend}</span></nav>'
    )


# ── the document


def _document(found: Inspection, most_pages: int) -> Iterator[str]:
    """Yield the text in its blocks, page by page if there are pages, with page images if possible."""
    text, starts, page, left = found.text, page_starts(found), None, _MOST_CHARACTERS
    open_section = False
    for block, pieces in marks(found):
        if left <= 0:
            break
        if block.page != page or not open_section:
            page = block.page
            yield "</div></section>" * open_section + _render_opening(found, page, starts, most_pages)
            open_section = True
        yield _block(block, pieces, text)
        left -= block.end - block.start
    yield "</div></section>" * open_section
    if left <= 0:
        yield f'<p class="note">Only the first {_MOST_CHARACTERS:,} characters are shown.</p>'


def _render_opening(found: Inspection, page: int | None, starts: dict[int, int], most_pages: int) -> str:
    if page is None:
        return '<section class="page"><div class="text">'
    label = f'<h2 class="number">page {page}</h2>'
    if not is_drawn(found):
        return f'<section class="page">{label}<div class="text">'
    if page > most_pages:
        note = f'<p class="note">Pages after {most_pages} are not drawn.</p>' if page == most_pages + 1 else ""
        return f'<section class="page">{label}{note}<div class="text">'
    return f'<section class="page drawn">{label}{_picture(found, page, starts[page])}<div class="text">'


def _picture(found: Inspection, page: int, offset: int) -> str:
    """Draw the page with a box around each block and a field under each chunk; a note if it cannot be drawn."""
    recognised = page in found.ocr_pages
    blocks = [] if recognised else [block for block in found.blocks if block.page == page]
    last = max((block.end for block in blocks), default=offset)
    chunks = [(n, c) for n, c in enumerate(found.chunks) if c.start < last and c.end > offset] if blocks else []
    spans = [(block.start - offset, block.end - offset) for block in blocks]
    spans += [(max(chunk.start - offset, 0), min(chunk.end, last) - offset) for _, chunk in chunks]
    try:
        picture = page_picture(found.path, page, spans, width=_PICTURE_WIDTH)
    except FootnotesError as error:
        return f'<p class="note">{escape_text(error.message)}</p>'
    return _figure(picture, page, blocks, chunks)


def _figure(
    picture: PagePicture, page: int, blocks: Sequence[Block], chunks: Sequence[tuple[int, AssembledChunk]]
) -> str:
    """Draw a box around each block; a field on each line of a chunk, with its number at its beginning."""
    fields = [
        _rectangle("box " + block.kind, _around(each))
        for block, each in zip(blocks, picture.boxes, strict=False)
        if each
    ]
    for (number, _), boxes in zip(chunks, picture.boxes[len(blocks) :], strict=True):
        fields += [_rectangle(f"field c{number % COLOURS}", box) for box in boxes]
        if boxes:
            first = Box(boxes[0].left, boxes[0].bottom, boxes[0].left, boxes[0].bottom)
            fields.append(_rectangle(f"number c{number % COLOURS}", first, str(number + 1)))
    data = base64.b64encode(picture.png).decode("ascii")
    size = f'width="{picture.width}" height="{picture.height}"'
    return f'<figure><img alt="page {page}" {size} src="data:image/png;base64,{data}">{"".join(fields)}</figure>'


def _around(boxes: Sequence[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def _rectangle(name: str, box: Box, label: str = "") -> str:
    """Draw a mark on a picture; its boxes count from the upper edge."""
    left, top, right, bottom = box
    size = f"width:{right - left:.2%};height:{bottom - top:.2%}" if not label else ""
    return f'<i class="{name}" style="left:{left:.2%};top:{top:.2%};{size}">{label}</i>'


def _block(block: Block, pieces: list[Mark], text: str) -> str:
    inner = "".join(_piece(piece, text) for piece in pieces)
    level = f" {block.level}" if block.level else ""
    label = f'<span class="kind">{block.kind}{level}{" · OCR" if block.attributes.get("ocr") is True else ""}</span>'
    return f'<div class="block {block.kind}">{label}<div class="said">{inner}</div></div>'


def _piece(piece: Mark, text: str) -> str:
    """Format a run of text in its chunk's colour, with the chunk's number at its beginning; striped on overlap."""
    text_html = escape_text(text[piece.start : piece.end])
    if not piece.chunks:
        return text_html
    names = " ".join([f"c{piece.chunks[-1] % COLOURS}", *(["shared"] if len(piece.chunks) > 1 else [])])
    number = "".join(f'<a class="begins" id="t{n + 1}" href="#k{n + 1}">{n + 1}</a>' for n in piece.begins)
    where = ", ".join(str(n + 1) for n in piece.chunks)
    return f'{number}<mark class="{names}" title="chunk {where}">{text_html}</mark>'


# ── below the document


def _headings(found: Inspection) -> str:
    if not found.headings:
        return ""
    rows = "".join(
        f'<li style="margin-left:{1.2 * (min(block.level, 8) - 1):.1f}rem">{escape_text(block.headings[-1])}'
        + (f" <small>page {block.page}</small>" if block.page is not None else "")
        + "</li>"
        for block in found.headings[:_MOST_CHUNKS]
        if block.headings
    )
    return f"<details><summary>Headings <small>{len(found.headings):,}</small></summary><ul>{rows}</ul></details>"


def _chunks(found: Inspection) -> str:
    options = ", ".join(f"{key}={value}" for key, value in found.chunker_options.items())
    rows = []
    for number, chunk in enumerate(found.chunks[:_MOST_CHUNKS]):
        pages = "" if chunk.pages is None else "–".join(map(str, dict.fromkeys(chunk.pages)))
        link = f'<a class="begins c{number % COLOURS}" href="#t{number + 1}">{number + 1}</a>'
        rows.append(
            f'<tr id="k{number + 1}"><td>{link}</td>'
            f"<td>{chunk.start}–{chunk.end}</td><td>{chunk.tokens}</td><td>{pages}</td>"
            f"<td>{escape_text(' › '.join(chunk.headings))}<pre>{escape_text(chunk.prefix)}</pre></td></tr>"
        )
    more = len(found.chunks) - _MOST_CHUNKS
    note = f'<p class="note">{more:,} more chunks are not listed.</p>' if more > 0 else ""
    head = "<tr><th>chunk</th><th>characters</th><th>tokens</th><th>pages</th><th>headings and prefix</th></tr>"
    about = f"{len(found.chunks):,} by {found.chunker}: {options}"
    return (
        f"<details open><summary>Chunks <small>{escape_text(about)}</small></summary>"
        f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>{note}</details>'
    )


# ── splits a text into runs, each with its block and its chunks ───────────────────────────────────────────────


class Mark(NamedTuple):
    """A run of text in the same chunks, by their numbers; `begins` are the chunks that begin with it."""

    start: int
    end: int
    chunks: tuple[int, ...]
    begins: tuple[int, ...]


def page_starts(found: Inspection) -> dict[int, int]:
    """Return the offset of the first block of each page."""
    starts: dict[int, int] = {}
    for block in found.blocks:
        if block.page is not None:
            starts.setdefault(block.page, block.start)
    return starts


def marks(found: Inspection) -> Iterator[tuple[Block, list[Mark]]]:
    """Yield every block with its runs, in order. Text outside of blocks becomes a paragraph if it is not blank."""
    cutter = _Cutter(found)
    position, text = 0, found.text
    for block in found.blocks:
        if block.start > position and text[position : block.start].strip():
            yield _unclaimed(position, block.start, block), cutter.runs(position, block.start)
        if block.end > block.start:
            yield block, cutter.runs(block.start, block.end)
        position = max(position, block.end)
    if text[position:].strip():
        yield _unclaimed(position, len(text), None), cutter.runs(position, len(text))


def _unclaimed(start: int, end: int, before: Block | None) -> Block:
    return Block("paragraph", start, end, before.page if before else None)


class _Cutter:
    """Finds the chunks of a span. Chunks may overlap; they are in order of their starts and of their ends."""

    def __init__(self, found: Inspection) -> None:
        self._starts = [chunk.start for chunk in found.chunks]
        self._ends = [chunk.end for chunk in found.chunks]
        self._begun: set[int] = set()

    def runs(self, start: int, end: int) -> list[Mark]:
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        inside = range(first, last)
        cuts = {start, end}
        cuts.update(at for n in inside for at in (self._starts[n], self._ends[n]) if start < at < end)
        edges = sorted(cuts)
        return [self._mark(low, high, inside) for low, high in pairwise(edges)]

    def _mark(self, low: int, high: int, inside: range) -> Mark:
        there = tuple(n for n in inside if self._starts[n] < high and self._ends[n] > low)
        fresh = tuple(n for n in there if n not in self._begun)
        self._begun.update(fresh)
        return Mark(low, high, there, fresh)
