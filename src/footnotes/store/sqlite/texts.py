"""Canonical text in pieces of equal length, and the blocks over it."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from footnotes.errors import StoreCorrupt
from footnotes.store.packing import PIECE, PieceCutter, pack_blocks, unpack_blocks
from footnotes.store.sqlite.sql import queries
from footnotes.types import Part


class TextWriter:
    """Writes parts as they come."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._piece = 0
        self._part = 0
        self._cutter = PieceCutter()

    def add(self, connection: apsw.Connection, part: Part) -> None:
        pieces = self._cutter.add(part)
        row = (self._version, self._part, part.start, len(part.text), pack_blocks(part.blocks))
        connection.execute(queries()["put_part"], row)
        self._part += 1
        self._put(connection, pieces)

    def finish(self, connection: apsw.Connection) -> None:
        self._put(connection, self._cutter.finish())

    def _put(self, connection: apsw.Connection, pieces: list[str]) -> None:
        for content in pieces:
            connection.execute(queries()["put_text"], (self._version, self._piece, content))
            self._piece += 1


def read_span(connection: apsw.Connection, version: int, start: int, end: int) -> str:
    """`canonical_text[start:end]`, reading no more than it needs."""
    if end <= start:
        return ""
    first, last = start // PIECE, (end - 1) // PIECE
    rows = list(connection.execute(queries()["texts"], (version, first, last)))
    if len(rows) != last - first + 1:
        raise StoreCorrupt(f"text is missing in version {version} between {start} and {end}")
    text = rows[0][1] if len(rows) == 1 else "".join(content for _, content in rows)
    offset = first * PIECE
    return text[start - offset : end - offset]


class SpanReader:
    """`read_span` for spans that come in order: each piece is read once, and one piece is remembered."""

    def __init__(self, connection: apsw.Connection, version: int) -> None:
        self._connection = connection
        self._version = version
        self._number = -1
        self._piece = ""

    def read(self, start: int, end: int) -> str:
        first, last = start // PIECE, (end - 1) // PIECE
        if first == last == self._number:
            return self._piece[start - first * PIECE : end - first * PIECE]
        known = self._piece if first == self._number else ""
        missing = first + 1 if known else first
        rows = list(self._connection.execute(queries()["texts"], (self._version, missing, last)))
        if len(rows) != last - missing + 1:
            raise StoreCorrupt(f"text is missing in version {self._version} between {start} and {end}")
        self._number, self._piece = last, rows[-1][1] if rows else known
        text = known + "".join(content for _, content in rows)
        return text[start - first * PIECE : end - first * PIECE]


def read_parts(connection: apsw.Connection, version: int) -> Iterator[Part]:
    """The parts as the parser gave them."""
    for start, length, blocks in connection.execute(queries()["parts"], (version,)):
        yield Part(start, read_span(connection, version, start, start + length), unpack_blocks(blocks))
