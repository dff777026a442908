"""Shelves in a Chroma, and what is put on them, for the tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chroma import ChromaServer
from footnotes.index import Change, Entry, Keys, Vector
from footnotes.index.chroma import ChromaDatabase
from footnotes.index.remote import Scope
from footnotes.settings import Settings

D = 16
_NUMBERS = itertools.count(1)


def vectors(count: int, seed: int = 1, dimensions: int = D) -> Vector:
    """Unit vectors as the store keeps them: in float16, in clusters."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((40, dimensions))
    rows = centres[rng.integers(0, 40, count)] + 0.5 * rng.standard_normal((count, dimensions))
    kept = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return np.asarray(kept, dtype=np.float32)


def changes(rows: Vector, *, seq: int = 1, first: int = 1, per_document: int = 10) -> Iterator[Change]:
    """Documents of some chunks each. Facets: `third:0` to `third:2` by key, and `document:N`."""
    for start in range(0, len(rows), per_document):
        document = (first + start - 1) // per_document + 1
        numbers = range(start, min(start + per_document, len(rows)))
        yield Change(seq, document, [entry(first + n, document, rows[n]) for n in numbers])


def entry(key: int, document: int, row: NDArray[Any], **more: Any) -> Entry:
    facets = (f"third:{key % 3}", f"document:{document}")
    return Entry(key, document, **{"facets": facets, "vector": row.astype(np.float16).tobytes(), **more})


def exact(rows: Vector, query: Vector, keys: Sequence[int] | Keys, limit: int) -> list[int]:
    """What comparing with every row finds; the row of key 1 is the first."""
    listed = np.asarray(keys)
    compared = rows[listed - 1]
    scores = compared @ query / np.linalg.norm(compared, axis=1)  # rounded to float16, they are not quite of length 1
    return [int(key) for key in listed[np.argsort(-scores, kind="stable")[:limit]]]


def scope(user: str = "ada", generation: int = 1, **more: Any) -> Scope:
    return Scope("a" * 32, user, generation, **{"fingerprint": "model", "dimensions": D, **more})


class Places:
    """Where the indexes of one test are: a folder, or a prefix of the server."""

    def __init__(self, folder: Path | None = None, server: ChromaServer | None = None) -> None:
        self.server = server
        self.address = f"chroma:{folder}" if server is None else f"{server.address}/t{next(_NUMBERS)}"
        self._opened: list[ChromaDatabase] = []

    def database(self, **settings: Any) -> ChromaDatabase:
        made = ChromaDatabase.opened(Settings(index=self.address, **settings))
        self._opened.append(made)
        return made

    def close(self) -> None:
        for database in self._opened:
            database.close()
