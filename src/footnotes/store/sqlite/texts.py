"""Canonical text in pieces of equal length, and the blocks over it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

import apsw

from footnotes.errors import StoreCorrupt
from footnotes.store.sqlite.sql import queries
from footnotes.types import Block, Part

PIECE = 4_000
"""Characters in a piece: two of plain English fill a page of the database. queries.sql knows the number too."""


class TextWriter:
    """Writes parts as they come; keeps less than one piece in memory."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._piece = 0
        self._part = 0
        self._rest = ""
        self._at = 0

    def add(self, connection: apsw.Connection, part: Part) -> None:
        if part.start != self._at:
            raise ValueError(f"part begins at {part.start}, expected {self._at}")
        self._at = part.end
        row = (self._version, self._part, part.start, len(part.text), pack_blocks(part.blocks))
        connection.execute(queries()["put_part"], row)
        self._part += 1
        text = self._rest + part.text
        whole = len(text) - len(text) % PIECE
        for start in range(0, whole, PIECE):
            self._put(connection, text[start : start + PIECE])
        self._rest = text[whole:]

    def finish(self, connection: apsw.Connection) -> None:
        if self._rest:
            self._put(connection, self._rest)
            self._rest = ""

    def _put(self, connection: apsw.Connection, content: str) -> None:
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


def pack_blocks(blocks: tuple[Block, ...]) -> str:
    """Blocks as compact JSON; heading paths repeat, so each is written once."""
    paths: dict[tuple[str, ...], int] = {}
    rows = []
    for block in blocks:
        path = paths.setdefault(block.headings, len(paths))
        rows.append([block.kind, block.start, block.end, block.page, block.level, path, dict(block.attributes)])
    return json.dumps([[list(path) for path in paths], rows], ensure_ascii=False, separators=(",", ":"))


def unpack_blocks(packed: str) -> tuple[Block, ...]:
    paths, rows = json.loads(packed)
    return tuple(
        Block(kind, start, end, page, level, tuple(paths[path]), attributes)
        for kind, start, end, page, level, path, attributes in rows
    )


@lru_cache(maxsize=4_096)
def unpack_headings(packed: str) -> tuple[str, ...]:
    """Heading paths repeat from hit to hit."""
    return tuple(json.loads(packed))
