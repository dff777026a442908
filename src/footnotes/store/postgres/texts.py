"""Canonical text: in the document's own row where it is not large, else in pieces of equal length; and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from footnotes.errors import StoreCorrupt, StoreLocked
from footnotes.store.packing import PIECE, PieceCutter, pack_blocks, unpack_blocks
from footnotes.store.postgres.clean import clean
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.sql import queries
from footnotes.types import Part

WHOLE = 250_000
"""Characters up to which a text is kept whole; a span of a longer one is read without reading all of it."""
_PARTS_AT_ONCE = 16
_PIECES_AT_ONCE = 64


@dataclass(slots=True)
class TextRows:
    """Rows of texts and parts, to be written together."""

    texts: list[tuple[int, int, str]] = field(default_factory=list)
    parts: list[tuple[int, int, int, int, str]] = field(default_factory=list)

    def write(self, connection: Connection, user_id: str) -> None:
        if self.texts:
            connection.execute(queries()["put_texts"], user_id, *_columns(self.texts))
        if self.parts:
            connection.execute(queries()["put_parts"], user_id, *_columns(self.parts))


@dataclass(slots=True)
class TextWriter:
    """Makes rows of parts as they come. Those of an attempt that failed are made again from a copy."""

    version: int
    piece: int = 0
    part: int = 0
    cutter: PieceCutter = field(default_factory=PieceCutter)

    def add_part(self, part: Part, rows: TextRows) -> None:
        """The blocks of a part alone, for a text that is kept whole."""
        rows.parts.append((self.version, self.part, part.start, len(part.text), clean(pack_blocks(part.blocks))))
        self.part += 1

    def add(self, part: Part, rows: TextRows) -> None:
        pieces = self.cutter.add(part)
        self.add_part(part, rows)
        self._put(pieces, rows)

    def finish(self, rows: TextRows) -> None:
        self._put(self.cutter.finish(), rows)

    def _put(self, pieces: list[str], rows: TextRows) -> None:
        for content in pieces:
            rows.texts.append((self.version, self.piece, clean(content)))
            self.piece += 1


def read_span(connection: Connection, user_id: str, version: int, start: int, end: int) -> str:
    """`canonical_text[start:end]`, reading no more than it needs."""
    if end <= start:
        return ""
    if start < WHOLE:
        whole: str | None = connection.value(queries()["content_span"], user_id, version, start, end - start)
        if whole is not None:
            return whole
    first, last = start // PIECE, (end - 1) // PIECE
    rows = connection.fetch(queries()["texts"], user_id, version, first, last)
    if len(rows) != last - first + 1:
        if connection.value(queries()["is_current"], user_id, version) is None:
            raise _replaced(version)
        raise StoreCorrupt(f"text is missing in version {version} between {start} and {end}")
    text = "".join(row[1] for row in rows)
    return text[start - first * PIECE : end - first * PIECE]


class SpanReader:
    """`read_span` for spans that come in order: pieces are read many at a time."""

    def __init__(self, connection: Connection, user_id: str, version: int, characters: int) -> None:
        self._connection = connection
        self._user_id = user_id
        self._version = version
        self._characters = characters
        self._start = 0
        self._text = ""

    def read(self, start: int, end: int) -> str:
        if not self._start <= start <= end <= self._start + len(self._text):
            last = min(max(end, start + _PIECES_AT_ONCE * PIECE), self._characters)
            self._start, self._text = start, read_span(self._connection, self._user_id, self._version, start, last)
        return self._text[start - self._start : end - self._start]


def read_parts(database: Database, user_id: str, version: int) -> Iterator[Part]:
    """The parts as the parser gave them, some at a time: no connection is kept while somebody works on one."""
    after = -1
    while True:
        with database.raw_snapshot(user_id) as connection:
            rows = connection.fetch(queries()["parts"], user_id, version, after, _PARTS_AT_ONCE)
            found = [_part(connection, user_id, version, row) for row in rows]
        if not rows:
            if after < 0:
                raise _replaced(version)
            return
        yield from found
        after = rows[-1]["number"]


def _replaced(version: int) -> StoreLocked:
    said = f"version {version} of a text was replaced or deleted while it was read"
    return StoreLocked(said, remedy="Read it again.")


def _part(connection: Connection, user_id: str, version: int, row: Any) -> Part:
    text = read_span(connection, user_id, version, row["start"], row["start"] + row["length"])
    return Part(row["start"], text, unpack_blocks(row["blocks"]))


def _columns(rows: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
