"""Builds canonical text in parts from blocks of extracted text, for formats whose text is not the file itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from footnotes.parse import PART_CHARACTERS
from footnotes.parse.decode import clean
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.parts import runs
from footnotes.types import Block, BlockKind, JsonValue, Metadata, Part

Locate = Callable[[int, int], Metadata]

CELL_SEPARATOR = " | "
_LONGEST_HEADER = 1000
_LONGEST_HEADING = 2000
_TABLE_RUN = 20_000
"""Rows are added in runs of about this many characters, each a block: a part can be closed between them."""


class Builder:
    """Collects blocks, separated by a blank line, and returns them in parts of bounded size."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.position = 0
        self.title: str | None = None
        self.stated: str | None = None
        """The title that the file states, used if the text does not begin with a heading."""
        self.stated_wins = False
        self.page: int | None = None
        self.tables = 0
        self._start = 0
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._ready: list[Part] = []

    def add(self, kind: BlockKind, text: str, *, attributes: Metadata | None = None, gap: str = "\n\n") -> None:
        """Append a block; skip one without text, split one that is too long."""
        text = clean(text).strip()
        for run in runs(iter((text,))):
            self._append(kind, run, gap if self.position else "", attributes=attributes or {})
            gap = ""
            if len(text) > len(run):
                self._ready.extend(self._large())

    def heading(self, level: int, text: str, *, ours: bool = False) -> None:
        """Append a heading and open its section. A heading of `ours` is not in the file, and is never its title."""
        text = " ".join(clean(text)[:_LONGEST_HEADING].split())
        if text:
            self.outline.enter(level, text)
            self.title = self.title or (None if ours else clean_title(text))
            self._append("heading", text, "\n\n" if self.position else "", level=level)

    def _append(
        self, kind: BlockKind, text: str, gap: str, *, level: int = 0, attributes: Metadata | None = None
    ) -> None:
        start = self.position + len(gap) + len(text) - len(text.lstrip())
        end = self.position + len(gap) + len(text.rstrip())
        self._pieces += (gap, text)
        self.position += len(gap) + len(text)
        if start < end:
            self._blocks.append(Block(kind, start, end, self.page, level, self.outline.path, attributes or {}))

    def add_table(self, rows: Iterable[Sequence[str]]) -> None:
        """Append rows that are all in memory."""
        self._ready.extend(self.table(rows))

    def table(self, rows: Iterable[Sequence[str]], locate: Locate | None = None) -> Iterator[Part]:
        """Append rows as lines of cells; the first row is the header for all. Yields full parts.

        `locate` returns the attributes of a run of rows, from the numbers of its first and last.
        """
        header = ""
        lines: list[str] = []
        length = first = last = 0
        has_begun = False
        for number, row in enumerate(rows):
            line = CELL_SEPARATOR.join(" ".join(cell.split()) for cell in row).strip()
            if not line.strip(" |"):
                continue
            header = header or clean(line)[:_LONGEST_HEADER]
            first, last = (first if lines else number), number
            lines.append(line)
            length += len(line)
            if length > _TABLE_RUN:
                self._rows(lines, header, locate(first, last) if locate else {}, has_begun)
                lines, length, has_begun = [], 0, True
                yield from self.full()
        if lines:
            self._rows(lines, header, locate(first, last) if locate else {}, has_begun)
        self.tables += bool(header)

    def _rows(self, lines: list[str], header: str, place: Metadata, has_begun: bool) -> None:
        attributes: dict[str, JsonValue] = {**place, "header": header}
        self.add("table", "\n".join(lines), attributes=attributes, gap="\n" if has_begun else "\n\n")

    def keep(self, part: Part) -> None:
        """Put back a part that could not be passed on; the next ones include it."""
        self._ready.append(part)

    def full(self) -> Iterator[Part]:
        """Yield the parts that are large enough."""
        ready, self._ready = self._ready, []
        yield from ready
        yield from self._large()

    def finish(self) -> Iterator[Part]:
        """Yield all that is left."""
        ready, self._ready = self._ready, []
        yield from ready
        yield from self._close_part()

    def _large(self) -> Iterator[Part]:
        if self.position - self._start >= PART_CHARACTERS:
            yield from self._close_part()

    def _close_part(self) -> Iterator[Part]:
        if self._pieces:
            yield Part(self._start, "".join(self._pieces), tuple(self._blocks), self._find_stated_title())
        self._pieces, self._blocks, self._start = [], [], self.position

    def _find_stated_title(self) -> str | None:
        if self._start or not self.stated:
            return None
        headed = bool(self._blocks) and self._blocks[0].kind == "heading"
        return None if headed and not self.stated_wins else clean_title(self.stated) or None
