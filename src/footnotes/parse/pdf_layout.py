"""Builds the text of a page from its words, block by block. Depends only on that page: boxes can be computed again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from footnotes.parse.pdf_columns import WIDE_GAP, Fragment, fragments, regions, right_to_left
from footnotes.parse.pdf_words import Word

_ITEM = re.compile(r"(?:[-*•‣◦▪·–■●○□➢✓]|\(?(?:\d{1,2}|[A-Za-z]|[ivx]{1,4})[.)])\Z")
_COMPOUND = frozenset(
    """
    well self non long short high low half all full cross post pre year third first second anti multi semi end day
    so one two three co ex e
    """.split()  # noqa: SIM905
)
"""First halves of words that keep their hyphen at the end of a line."""


class Line:
    """Fragments side by side: the cells of a table's row, or one piece of running text."""

    def __init__(self, cells: list[Fragment]) -> None:
        self.cells = cells
        self.words = [word for cell in cells for word in cell.words]
        self.left = min(cell.left for cell in cells)
        self.right = max(cell.right for cell in cells)
        self.middle = cells[0].middle
        self.height = max(cell.height for cell in cells)
        self.size = _usual_height(self.words)
        self.bold = all(word.bold for word in self.words)


def _usual_height(words: list[Word]) -> float:
    """Return the height of most of the text; a raised number or a large initial does not count."""
    heights = sorted((word.height, len(word.text)) for word in words)
    half = sum(length for _, length in heights) / 2
    for height, length in heights:
        half -= length
        if half <= 0:
            return height
    return 0.0


@dataclass(slots=True)
class PageBlock:
    """A paragraph, list item or table of a page; `start` and `end` are offsets into the page's text."""

    lines: list[Line]
    table: bool = False
    sideways: bool = False
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Layout:
    """A page's text and blocks, and for each word of the text the indexes of its characters in pdfium."""

    text: str
    blocks: list[PageBlock]
    words: list[tuple[int, Word]] = field(default_factory=list)


def lay_out(words: list[Word]) -> Layout:
    """Build the text of a page in reading order."""
    straight = fragments([word for word in words if not word.vertical])
    return lay_out_fragments(straight, [word for word in words if word.vertical])


def lay_out_fragments(found: list[Fragment], sideways: list[Word] | None = None) -> Layout:
    """Build the text of fragments in reading order, then of words written sideways."""
    blocks: list[PageBlock] = []
    for region in regions([fragment for fragment in found if fragment.characters > 1]):
        blocks.extend(_blocks(_lines(region)))
    blocks.extend(_sideways(sideways or []))
    return _compose(blocks)


def _sideways(words: list[Word]) -> Iterator[PageBlock]:
    """Yield words written across the main direction, line by line, in the order of the content."""
    lines: list[list[Word]] = []
    for word in words:
        beside = lines and abs(lines[-1][-1].left - word.left) < (word.right - word.left) * 0.5
        if beside and not lines[-1][-1].hyphenated:
            lines[-1].append(word)
        else:
            lines.append([word])
    for line in lines:
        first = line[0]
        yield PageBlock([Line([Fragment(line, first.left, first.bottom, first.right, first.top)])], sideways=True)


def _lines(region: list[Fragment]) -> list[Line]:
    """Arrange fragments of a region as lines from top to bottom, the cells of each from left to right."""
    rows: list[list[Fragment]] = []
    for fragment in sorted(region, key=lambda each: -each.middle):
        first = rows[-1][0] if rows else None
        if first and abs(first.middle - fragment.middle) <= min(first.height, fragment.height) * 0.5:
            rows[-1].append(fragment)
        else:
            rows.append([fragment])
    return [Line(_merge(sorted(row, key=lambda cell: cell.left)) if len(row) > 1 else row) for row in rows]


def _merge(cells: list[Fragment]) -> list[Fragment]:
    """Join neighbouring fragments without a wide gap; reverse right-to-left rows."""
    merged = [cells[0]]
    for cell in cells[1:]:
        last = merged[-1]
        if cell.left - last.right <= min(last.height, cell.height) * WIDE_GAP:
            words = [*last.words, *cell.words]
            bottom, top = min(last.bottom, cell.bottom), max(last.top, cell.top)
            merged[-1] = Fragment(words, last.left, bottom, max(last.right, cell.right), top)
        else:
            merged.append(cell)
    backwards = sum(right_to_left(word.text) for cell in cells for word in cell.words)
    return merged[::-1] if backwards * 2 > sum(len(cell.words) for cell in cells) else merged


def _blocks(lines: list[Line]) -> Iterator[PageBlock]:
    """Group lines into tables and paragraphs."""
    leading = _line_spacing(lines)
    right = max((line.right for line in lines), default=0.0)
    current: list[Line] = []
    table = False
    for index, line in enumerate(lines):
        row = _is_row(lines, index)
        if current and (row != table or _breaks(current, line, leading, right, table)):
            yield PageBlock(current, table)
            current = []
        table = row
        current.append(line)
    if current:
        yield PageBlock(current, table)


def _is_row(lines: list[Line], index: int) -> bool:
    """Return whether a line is a row of a table: it has three cells, or two and a neighbour with at least two."""
    if len(lines[index].cells) != 2:
        return len(lines[index].cells) > 2
    return any(len(lines[at].cells) > 1 for at in (index - 1, index + 1) if 0 <= at < len(lines))


def _line_spacing(lines: list[Line]) -> float:
    """Return the usual distance from a line to the next."""
    steps = [
        above.middle - below.middle
        for above, below in pairwise(lines)
        if abs(above.size - below.size) < 0.1 * above.size
    ]
    close = [step for step, line in zip(steps, lines, strict=False) if step < 3 * line.height]
    return median(close) if close else 0.0


def _breaks(current: list[Line], line: Line, leading: float, right: float, table: bool) -> bool:
    """Return whether a new block begins with a line."""
    last = current[-1]
    step = last.middle - line.middle
    if step > max(leading * 1.35, last.height * 0.6) and (leading or step > last.height * 1.8):
        return True
    if table:
        return False
    if abs(last.size - line.size) > 0.08 * max(last.size, line.size) or last.bold != line.bold:
        return True
    first_word = line.words[0].text
    if _ITEM.match(first_word):
        return True
    indented = line.left > last.left + line.height * 0.8 and line.left > current[0].left
    ended = last.right < right - 4 * last.height and last.words[-1].text.endswith((".", ":", "?", "!"))
    return ended or (indented and last.words[-1].text.endswith((".", ":")))


def _compose(blocks: list[PageBlock]) -> Layout:
    """Write the blocks, and record the position of each word."""
    layout = Layout("", blocks)
    vocabulary = {word.text.lower().strip(".,;:()") for block in blocks for line in block.lines for word in line.words}
    pieces: list[str] = []
    length = 0
    for block in blocks:
        if pieces:
            pieces.append("\n\n")
            length += 2
        block.start = length
        for glue, word, text in _join_words(block, vocabulary):
            pieces.append(glue)
            layout.words.append((length + len(glue), word))
            pieces.append(text)
            length += len(glue) + len(text)
        block.end = length
    layout.text = "".join(pieces)
    return layout


def _join_words(block: PageBlock, vocabulary: set[str]) -> Iterator[tuple[str, Word, str]]:
    """Yield each word of a block with its separator, and its text without a line-end hyphen."""
    flat = [
        (line, cell, word)
        for line, row in enumerate(block.lines)
        for cell, each in enumerate(row.cells)
        for word in each.words
    ]
    joined = False
    for index, (line, cell, word) in enumerate(flat):
        if index == 0 or joined:
            glue = ""
        elif flat[index - 1][0] != line:
            glue = "\n" if block.table else " "
        else:
            glue = "\t" if flat[index - 1][1] != cell else _space(flat[index - 1][2], word)
        text, joined = word.text, False
        if index + 1 < len(flat) and flat[index + 1][0] != line and not block.table:
            text, joined = _dehyphenate(word, flat[index + 1][2].text, vocabulary)
        yield glue, word, text


def _space(before: Word, word: Word) -> str:
    """Return a space, unless two words touch: then they are one word in two styles."""
    touches = before.first + len(before.text) != word.first and abs(word.left - before.right) < 0.05 * word.height
    return "" if touches and before.text[-1].isalnum() and word.text[0].islower() else " "


def _dehyphenate(word: Word, following: str, vocabulary: set[str]) -> tuple[str, bool]:
    """Return the text of a line's last word, and whether to join the next word to it."""
    text = word.text + "-" if word.hyphenated else word.text
    if not text.endswith(("-", "\u00ad", "\u2010")):
        return text, False
    before = text[:-1]
    if not before[-1:].isalpha() or not following[:1].isalpha():
        return text, word.hyphenated
    start, end = before.lower(), following.lower().strip(".,;:()")
    if start + end in vocabulary or text[-1] == "\u00ad":
        return before, True
    divided = following[0].islower() and len(before) > 1 and start not in _COMPOUND and "-" not in start
    return (before, True) if divided and f"{start}-{end}" not in vocabulary else (text, True)
