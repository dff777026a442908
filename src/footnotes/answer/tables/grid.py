"""Reads tables from lines of canonical text: rows of cells with their positions, headers and labels.

Parsers write a table with one row per line: cells separated by ` | ` (sheets, CSV, HTML, Word), by `|` with a rule
under the header (Markdown), or by tabs, for gaps between the words of a PDF. All are read from the text itself, so
every cell is a span of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from footnotes.answer.tables.values import is_value, is_year, scale_in, value_of

_RULE = re.compile(r"[\s|:=+-]*-{2,}[\s|:=+-]*\Z")
_MARK = re.compile(r"(?:[$€£¥%)]|US\$|£m|USD|EUR)+\Z")
_TRAILING_MARK = re.compile(r"(.*[\d)%–—-])\s+([$€£¥])\Z")
_DAY = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d{1,2},?")
"""Matches a day in a header, whose year may be below."""
_FEWEST_CELLS = 2
LONGEST_LABEL = 90
MOST_HEADERS = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text and position in the document; empty cells have none."""

    text: str
    start: int
    end: int

    @property
    def value(self) -> float | None:
        return value_of(self.text)


@dataclass(frozen=True)
class Table:
    """A table. All `rows` have `width` cells; the first `headers` of them name the columns."""

    rows: tuple[tuple[Cell, ...], ...]
    spans: tuple[tuple[int, int], ...]
    headers: int
    above: str = ""  # the line before it, which may state its subject and units
    loose: bool = False  # columns were guessed by counting cells
    source: str = field(default="", repr=False)  # the text it was read from, from `begin` on
    begin: int = 0

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    @property
    def body(self) -> range:
        return range(self.headers, len(self.rows))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The name of every column, with all header levels."""
        named = []
        for column in range(self.width):
            parts = dict.fromkeys(_spread(self.rows[row], column) for row in range(self.headers))
            named.append(" ".join(part for part in parts if part))
        return tuple(named)

    @cached_property
    def scale(self) -> str:
        """`thousands`, `millions` or `billions`, if the header or the line above says so."""
        said = " ".join((self.above, *(cell.text for row in self.rows[: self.headers] for cell in row)))
        return scale_in(said)

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """For every row, the label of the last row above without values: `Current assets:`."""
        found, last = [], ""
        for number, row in enumerate(self.rows):
            filled = [cell for cell in row if cell.text]
            if number >= self.headers and len(filled) == 1 and filled[0] is row[0]:
                last = row[0].text
                found.append("")
            else:
                found.append(last)
        return tuple(found)

    def quote(self, start: int, end: int) -> str:
        """Return the characters of a span of the document inside the table."""
        return self.source[start - self.begin : end - self.begin]

    def row_span(self, row: int) -> tuple[int, int]:
        """Return the span of a row, from its first cell to its last."""
        filled = [cell for cell in self.rows[row] if cell.text]
        return (filled[0].start, filled[-1].end) if filled else self.spans[row]

    def label(self, row: int) -> str:
        """Return the label of a row; a broken label begins on the line before."""
        own = self.rows[row][0].text
        return f"{self.sections[row]} {own}" if own[:1].islower() and self.sections[row] else own


def _spread(row: Sequence[Cell], column: int) -> str:
    """Return the header text of a column: its own, or that of an earlier cell that spans it."""
    if row[column].text or column == 0:
        return row[column].text
    return next((row[at].text for at in range(column - 1, 0, -1) if row[at].text), "")


def tables_in(text: str, start: int = 0) -> list[Table]:
    """Return the tables of a text that begins at `start` of its document, in order."""
    return [table for lines, above in _runs(text) if (table := _table(text, lines, above, start)) is not None]


Line = tuple[int, int]


def _runs(text: str) -> Iterator[tuple[list[Line], str]]:
    """Yield runs of rows, with the line of text before each.

    A short line between two rows with equally many cells is a broken label, and belongs to the row after it.
    """
    run: list[Line] = []
    above, blank, pending = "", 0, None
    at = 0
    for line in text.splitlines(keepends=True):
        span = (at, at + len(line.rstrip("\r\n")))
        at += len(line)
        content = text[span[0] : span[1]]
        if is_row(content):
            if run and (blank > 1 or (pending is not None and "|" in content)):
                yield run, above
                run, above = [], (text[slice(*pending)] if pending else above)
            elif run and pending is not None:
                run.append(pending)
            elif pending is not None:
                above = text[slice(*pending)]
            run.append(span)
            blank, pending = 0, None
        elif not content.strip():
            blank += 1
            if run and "|" in text[slice(*run[-1])]:
                yield run, above
                run, above, pending = [], "", None
        else:
            if run and (pending is not None or len(content) > LONGEST_LABEL):
                yield run, above
                run = []
            pending, blank = span, 0
            if not run:
                above = content.strip()
    if run:
        yield run, above


def is_row(line: str) -> bool:
    """Return whether a line of text is a row of a table."""
    if "\t" in line.strip():
        return True
    return line.count("|") >= 1 and (" | " in line or line.strip().startswith("|") or bool(_RULE.match(line)))


def _table(text: str, lines: list[Line], above: str, begin: int) -> Table | None:
    ruled = next((place for place, line in enumerate(lines) if _RULE.match(text[slice(*line)])), None)
    kept = [line for line in lines if not _RULE.match(text[slice(*line)])]
    piped = sum("|" in text[slice(*line)] for line in kept) * 2 >= len(kept)
    framed = piped and all(text[slice(*line)].strip().startswith("|") for line in kept)
    rows = [_split_pipes(text, line, begin, framed) if piped else _split_tabs(text, line, begin) for line in kept]
    width = max((len(row) for row in rows), default=0)
    if width < _FEWEST_CELLS or len(rows) < _FEWEST_CELLS:
        return None
    if not piped:
        rows = _align(rows, width)
    full = [(*row, *([Cell("", -1, -1)] * (width - len(row)))) for row in rows]
    spans = [(begin + a, begin + b) for a, b in kept]
    headers = 1 if ruled == 1 else _header_count(full)
    return Table(tuple(full), tuple(spans), headers, above, loose=not piped, source=text, begin=begin)


def _split_pipes(text: str, line: Line, begin: int, framed: bool) -> list[Cell]:
    start, end = line
    cells, at = [], start
    for piece in text[start:end].split("|"):
        cells.append(_cell(text, at, at + len(piece), begin))
        at += len(piece) + 1
    if framed:
        cells = cells[1:]
    if cells and not cells[-1].text and text[start:end].rstrip().endswith("|"):
        cells.pop()
    return cells


def _split_tabs(text: str, line: Line, begin: int) -> list[Cell]:
    """Split a line at tabs; a currency sign belongs to the number after it, a `%` or `)` to the one before."""
    start, end = line
    cells: list[Cell] = []
    at, opening = start, None
    for piece in text[start:end].split("\t"):
        first, last = at, at + len(piece)
        at = last + 1
        if opening is not None:
            first, opening = opening, None
        if trailing := _TRAILING_MARK.match(text[first:last]):
            cells.append(_cell(text, first, first + len(trailing[1]), begin))
            opening = first + trailing.start(2)
            continue
        cell = _cell(text, first, last, begin)
        if _MARK.match(cell.text) and cell.text[-1] in "%)" and cells:
            cells[-1] = _cell(text, cells[-1].start - begin, last, begin)
        elif _MARK.match(cell.text) and cells:
            opening = first
        elif cell.text:
            cells.append(cell)
    return cells


def _cell(text: str, start: int, end: int, begin: int) -> Cell:
    piece = text[start:end]
    bare = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return Cell(bare, begin + first, begin + first + len(bare)) if bare else Cell("", -1, -1)


def _align(rows: list[list[Cell]], width: int) -> list[list[Cell]]:
    """Align rows of different length in one grid: values fill it from the right, a header above them evenly.

    Values also fill it evenly if there is one per header name that spans several columns: one for each of two years.
    """
    empty = Cell("", -1, -1)
    made = []
    over = set[int]()
    for row, below in zip(rows, [*rows[1:], []], strict=True):
        missing = width - len(row)
        years = [column for column, cell in enumerate(below, width - len(below)) if is_year(cell.text)]
        if not missing:
            made.append(row)
        elif years and len(years) == sum(_DAY.fullmatch(cell.text) is not None for cell in row):
            made.append(_over_years(row, years, width))
        elif is_value(row[0].text) or is_year(row[0].text):
            made.append([empty] * missing + row)
        elif len(row) == 1:
            made.append(row + [empty] * missing)
        elif len(row) - 1 in over and all(is_value(cell.text) for cell in row[1:]):
            span = (width - 1) // (len(row) - 1)
            made.append([row[0], *(cell for each in row[1:] for cell in (each, *([empty] * (span - 1))))])
        elif all(is_value(cell.text) or is_year(cell.text) for cell in row[1:]):
            made.append([row[0], *([empty] * missing), *row[1:]])
        elif (width - 1) % len(row) == 0:
            span = (width - 1) // len(row)
            over.add(len(row))
            made.append([empty, *(cell for each in row for cell in (each, *([empty] * (span - 1))))])
        else:
            made.append(row + [empty] * missing)
    return made


def _over_years(row: Sequence[Cell], years: Sequence[int], width: int) -> list[Cell]:
    """Put days over the years of the row below, which may have a change beside them; put other cells over the rest."""
    days = iter([cell for cell in row if _DAY.fullmatch(cell.text)])
    others = iter([cell for cell in row if not _DAY.fullmatch(cell.text)])
    empty = Cell("", -1, -1)
    return [empty, *(next(days if column in years else others, empty) for column in range(1, width))]


_OPTION = re.compile(r"--?[A-Za-z]")


def _header_count(rows: Sequence[Sequence[Cell]]) -> int:
    """Count the top rows that name columns: their only values are years, and they end at a row with its own label.

    An option of a command names no column: a list of options has no header.
    """
    if rows and rows[0] and _OPTION.match(rows[0][0].text):
        return 0
    for number, row in enumerate(rows[:MOST_HEADERS]):
        beside = [cell.text for cell in row[1:] if cell.text]
        if any(is_value(text) and not is_year(text) for text in beside):
            return number if number or not is_value(row[0].text) else 0
        named = any(cell.text for above in rows[:number] for cell in above[1:])
        if named and not beside and row[0].text:
            return number
        if named and row[0].text and beside and not any(map(is_year, beside)) and not _goes_on(rows, number):
            return number
    return 1


def _goes_on(rows: Sequence[Sequence[Cell]], number: int) -> bool:
    """Return whether a possible header row is above one that names years: it is then a level of the header."""
    return any(is_year(cell.text) for row in rows[number + 1 : number + 3] for cell in row[1:])
