"""Canonical text in pieces of equal length, or whole in the document's row, and its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from footnotes.errors import StoreCorrupt, StoreLocked
from footnotes.store.database import Cursor, Database, Row
from footnotes.store.packing import PIECE, PieceCutter, pack_blocks, unpack_blocks
from footnotes.types import Part

_PARTS_AT_ONCE = 16
_PIECES_AT_ONCE = 64


@dataclass(slots=True)
class TextRows:
    """Rows of texts and parts, to be written in one go."""

    texts: list[dict[str, object]] = field(default_factory=list)
    parts: list[dict[str, object]] = field(default_factory=list)

    def write(self, cursor: Cursor) -> None:
        cursor.many("put_texts", self.texts)
        cursor.many("put_parts", self.parts)


@dataclass(slots=True)
class TextWriter:
    """Converts parts to rows as they come. A failed attempt is repeated from a copy."""

    version: int
    piece: int = 0
    part: int = 0
    cutter: PieceCutter = field(default_factory=PieceCutter)

    def add_part(self, part: Part, rows: TextRows) -> None:
        """Add only the blocks of a part, for a text that is stored whole."""
        row = {"version": self.version, "number": self.part, "start": part.start, "length": len(part.text)}
        rows.parts.append({**row, "blocks": pack_blocks(part.blocks)})
        self.part += 1

    def add(self, part: Part, rows: TextRows) -> None:
        pieces = self.cutter.add(part)
        self.add_part(part, rows)
        self._put(pieces, rows)

    def finish(self, rows: TextRows) -> None:
        self._put(self.cutter.finish(), rows)

    def _put(self, pieces: list[str], rows: TextRows) -> None:
        for content in pieces:
            rows.texts.append({"version": self.version, "number": self.piece, "content": content})
            self.piece += 1


@dataclass(slots=True)
class Handle:
    """A draft's place in the database. `opened` once it has rows, if its dialect tells them apart."""

    pk: int
    version: int
    writer: TextWriter
    opened: bool = False


class SpanReader:
    """Reads `canonical_text[start:end]` of a version for spans in order: many pieces per query."""

    def __init__(self, cursor: Cursor, version: int, *, ahead: int = _PIECES_AT_ONCE * PIECE) -> None:
        self._cursor = cursor
        self._version = version
        self._ahead = ahead
        self._start = 0
        self._text = ""

    def read(self, start: int, end: int) -> str:
        if end <= start:
            return ""
        if not self._start <= start <= end <= self._start + len(self._text):
            self._load(start, end)
        return self._text[start - self._start : end - self._start]

    def _load(self, start: int, end: int) -> None:
        first, last = start // PIECE, (max(end, start + self._ahead) - 1) // PIECE
        self._start = first * PIECE
        span = {"start": self._start, "length": (last - first + 1) * PIECE}
        rows = self._cursor.all("texts", version=self._version, first=first, last=last, **span)
        self._text = "".join(row["content"] for row in rows) if _follow(rows, first) else ""
        if self._start + len(self._text) < end:
            if self._cursor.value("is_current", version=self._version) is None:
                raise _replaced(self._version)
            raise StoreCorrupt(f"text is missing in version {self._version} between {start} and {end}")


def _follow(rows: list[Row], first: int) -> bool:
    """Return whether no piece is missing in between; a text stored whole has no pieces."""
    return all(row["number"] in (-1, first + place) for place, row in enumerate(rows))


def read_span(cursor: Cursor, version: int, start: int, end: int) -> str:
    """Return `canonical_text[start:end]`, reading no more than needed."""
    return SpanReader(cursor, version, ahead=0).read(start, end)


def read_parts(database: Database, user_id: str, version: int) -> Iterator[Part]:
    """Yield the parsed parts in batches, because a document may be larger than memory."""
    after = -1
    while True:
        with database.snapshot(user_id) as cursor:
            rows = cursor.all("parts", version=version, after=after, limit=_PARTS_AT_ONCE)
            found = [_part(cursor, version, row) for row in rows]
        if not rows:
            if after < 0:
                raise _replaced(version)
            return
        yield from found
        after = rows[-1]["number"]


def _replaced(version: int) -> StoreLocked:
    message = f"version {version} of a text was replaced or deleted while it was read"
    return StoreLocked(message, remedy="Read it again.")


def _part(cursor: Cursor, version: int, row: Row) -> Part:
    text = read_span(cursor, version, row["start"], row["start"] + row["length"])
    return Part(row["start"], text, unpack_blocks(row["blocks"]))
