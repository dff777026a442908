"""The storage format of text, blocks and vectors: pieces of equal length, compact JSON, half precision."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import DimensionMismatch, InvalidVector
from footnotes.types import Block, Part

PIECE = 4_000
"""Characters per piece: two of plain English fill a page of SQLite. Its queries.sql contains the number too."""

HALF_BYTES = 2
"""Bytes per dimension of a stored vector."""
_PLAIN = json.JSONEncoder(ensure_ascii=False)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def half_vectors(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float16]:
    """Convert vectors to half precision. Raises on bad values: in the store they would go unnoticed forever."""
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        found = vectors.shape[1] if vectors.ndim == 2 else vectors.shape
        raise DimensionMismatch(f"a vector has {found} dimensions where {dimensions} were expected")
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if not np.isfinite(halves).all() or not halves.any(axis=1).all():
        raise InvalidVector("a vector holds NaN or infinity, or nothing but zeros")
    return halves


def half_bytes(vector: Any) -> bytes | None:
    """Return a stored vector in half precision, little-endian, from whatever type the driver returns."""
    return vector if vector is None or isinstance(vector, bytes) else vector.to_numpy().astype("<f2").tobytes()


class PieceCutter:
    """Cuts parts into pieces as they come; holds less than one piece in memory."""

    def __init__(self) -> None:
        self._at = 0
        self._rest = ""

    def add(self, part: Part) -> list[str]:
        """Return the full pieces."""
        if part.start != self._at:
            raise ValueError(f"part begins at {part.start}, expected {self._at}")
        self._at = part.end
        text = self._rest + part.text
        whole = len(text) - len(text) % PIECE
        self._rest = text[whole:]
        return [text[start : start + PIECE] for start in range(0, whole, PIECE)]

    def finish(self) -> list[str]:
        """Return the last piece, if there is one."""
        rest, self._rest = self._rest, ""
        return [rest] if rest else []


def pack_json(value: dict[str, object] | list[object]) -> str:
    """Encode a value like `json.dumps`, but with a shared encoder."""
    return _PLAIN.encode(value) if value else "{}" if isinstance(value, dict) else "[]"


def pack_blocks(blocks: tuple[Block, ...]) -> str:
    """Encode blocks as compact JSON; heading paths repeat, so each is written once."""
    paths: dict[tuple[str, ...], int] = {}
    rows = []
    for block in blocks:
        path = paths.setdefault(block.headings, len(paths))
        rows.append([block.kind, block.start, block.end, block.page, block.level, path, dict(block.attributes)])
    return _COMPACT.encode([[list(path) for path in paths], rows])


def unpack_blocks(packed: str) -> tuple[Block, ...]:
    paths, rows = json.loads(packed)
    return tuple(
        Block(kind, start, end, page, level, tuple(paths[path]), attributes)
        for kind, start, end, page, level, path, attributes in rows
    )


@lru_cache(maxsize=4_096)
def unpack_headings(packed: str) -> tuple[str, ...]:
    """Decode heading paths, cached because they repeat from hit to hit."""
    return tuple(json.loads(packed))
