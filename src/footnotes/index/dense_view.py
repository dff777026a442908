"""An immutable view of all rows for dense searches, and the arithmetic over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.index import Found, Keys, Vector
from footnotes.index.dense_files import SCALE, Rows

EXACT_ROWS = 2_048
"""Up to this many rows, a search compares all of them in single precision."""
SCANNED_ROWS = 32_768
"""Up to this many rows, a search compares int8 copies of all rows and scores the best exactly. This is about as fast
as a graph, which takes half a minute of CPU time to build."""
COPIED_ROWS = 262_144
"""Up to this many rows outside the graph have int8 copies in memory; with more, searches read the rows themselves."""
_CANDIDATES = 64
_BLOCK_ROWS = 8_192
_COMPARED_AT_ONCE = 512


class DenseView:
    """Rows in key order. `graph` covers the rows up to `graph_rows`; the rest are compared one by one."""

    def __init__(self, keys: Keys, parts: Sequence[Rows], alive: NDArray[np.bool_], graph: Any, graph_rows: int):
        self.keys = keys
        self.alive = alive
        self.graph = graph
        self.graph_rows = graph_rows if graph is not None else 0
        self._parts = list(parts)
        self._starts = np.cumsum([0] + [len(part) for part in parts])
        self._tail: NDArray[np.float32] | None = None
        self._copies: NDArray[np.int8] | None = None

    @property
    def uncovered(self) -> int:
        return len(self.keys) - self.graph_rows

    def search(self, vector: Vector, limit: int) -> Found:
        """Return the nearest live rows."""
        if not self.graph_rows:
            return self._best(*self._nearest_in_tail(vector, limit), limit)
        positions = self._nearest_in_graph(vector, limit)
        scores = self.similarities(vector, positions)
        if self.uncovered:
            more, more_scores = self._nearest_in_tail(vector, limit)
            positions, scores = np.concatenate([positions, more]), np.concatenate([scores, more_scores])
        return self._best(positions, scores, limit)

    def search_within(self, vector: Vector, limit: int, keys: Keys) -> Found:
        """Return the nearest rows among `keys`: exact for every filter."""
        positions = self.positions(keys)
        return self._best(positions, self.similarities(vector, positions), limit)

    def positions(self, keys: Keys) -> NDArray[np.intp]:
        """Return the positions of keys, without unknown and removed ones."""
        if len(self.keys) == 0 or len(keys) == 0:
            return np.zeros(0, dtype=np.intp)
        at: NDArray[np.intp] = self.keys.searchsorted(keys)
        at[at == len(self.keys)] = 0
        found: NDArray[np.intp] = at[(self.keys[at] == keys) & self.alive[at]]
        return found

    def similarities(self, vector: Vector, positions: NDArray[np.intp]) -> Vector:
        """Return the cosine of each row with a unit vector."""
        if len(positions) == 0:
            return np.zeros(0, dtype=np.float32)
        scaled = vector / SCALE
        if len(positions) <= _COMPARED_AT_ONCE:
            return row_products(self.raw(positions).astype(np.float32), scaled)
        # Convert in blocks: one large array is slow to allocate, while a block stays in the processor's cache.
        starts = range(0, len(positions), _COMPARED_AT_ONCE)
        taken = (self.raw(positions[at : at + _COMPARED_AT_ONCE]).astype(np.float32) for at in starts)
        return np.concatenate([row_products(rows, scaled) for rows in taken])

    def rows(self, positions: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return vectors in single precision."""
        return self.raw(positions).astype(np.float32) / np.float32(SCALE)

    def prepare_like(self, before: DenseView) -> None:
        """Build the cached copies now if the previous view had built them, so the first search need not wait."""
        if (before._copies is not None or before._tail is not None) and self.uncovered:
            self._nearest_in_tail(np.ones(self._parts[0].shape[1], dtype=np.float32), 1)

    def raw(self, positions: NDArray[np.intp]) -> Rows:
        """Return vectors as stored in the segments."""
        if len(self._parts) == 1:
            return self._parts[0][positions]
        rows = np.empty((len(positions), self._parts[0].shape[1]), dtype=np.int16)
        owner = np.searchsorted(self._starts, positions, side="right") - 1
        for number in np.flatnonzero(np.bincount(owner)).tolist():
            mine = owner == number
            rows[mine] = self._parts[number][positions[mine] - self._starts[number]]
        return rows

    def _nearest_in_tail(self, vector: Vector, limit: int) -> tuple[NDArray[np.intp], Vector]:
        if self.uncovered == 0:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.float32)
        if EXACT_ROWS < self.uncovered <= COPIED_ROWS and limit <= self.uncovered // 4:
            positions = self._nearest_copies(vector, limit)
            return positions, self.similarities(vector, positions)
        scores = self._tail_similarities(vector)
        alive = self.alive[self.graph_rows :]
        if not alive.all():
            scores = np.where(alive, scores, -np.inf)
        count = min(limit, len(scores))
        best = np.argpartition(scores, -count)[-count:] if count < len(scores) else np.arange(len(scores))
        best = best[np.isfinite(scores[best])]
        return best + self.graph_rows, scores[best]

    def _nearest_copies(self, vector: Vector, limit: int) -> NDArray[np.intp]:
        """Return candidates from int8 copies of rows outside the graph; widen until enough are live."""
        from usearch.index import search

        if self._copies is None:
            self._copies = np.concatenate([_small_copies(block) for block in self._tail_blocks()])
        query, wanted = _small_copies(vector[np.newaxis])[0], max(limit + limit // 4, _CANDIDATES)
        while True:
            wanted = min(wanted, self.uncovered)
            found: Any = search(self._copies, query, wanted, exact=True, threads=1)  # cosine
            positions = np.asarray(found.keys, dtype=np.intp) + self.graph_rows
            positions = positions[self.alive[positions]]
            if len(positions) >= limit or wanted == self.uncovered:
                return positions
            wanted *= 4

    def _tail_similarities(self, vector: Vector) -> Vector:
        """Return the cosine of every row outside the graph."""
        scaled = vector / SCALE
        if self.uncovered > EXACT_ROWS:
            return np.concatenate([row_products(block.astype(np.float32), scaled) for block in self._tail_blocks()])
        if self._tail is None:
            self._tail = np.concatenate([block.astype(np.float32) for block in self._tail_blocks()])
        return row_products(self._tail, scaled)

    def _tail_blocks(self) -> Iterator[Rows]:
        """Yield the rows outside the graph, in order, in blocks."""
        for part, start in zip(self._parts, self._starts[:-1].tolist(), strict=True):
            for first in range(max(self.graph_rows - start, 0), len(part), _BLOCK_ROWS):
                yield part[first : first + _BLOCK_ROWS]

    def _nearest_in_graph(self, vector: Vector, limit: int) -> NDArray[np.intp]:
        """Return candidates from the graph; widen the search until enough are live, because removed rows stay in it."""
        wanted = max(limit + limit // 4, _CANDIDATES)
        while True:
            found = self.graph.search(vector, wanted, threads=1)
            keys = np.asarray(found.keys, dtype=np.int64)
            positions = self.positions(keys)
            if len(positions) >= limit or wanted >= self.graph_rows or len(keys) < wanted:
                return positions
            wanted *= 4

    def _best(self, positions: NDArray[np.intp], scores: Vector, limit: int) -> Found:
        if len(positions) > 4 * limit:
            top = np.argpartition(scores, -limit)[-limit:]
            positions, scores = positions[top], scores[top]
        # Positions are in key order, so a stable sort over sorted positions breaks ties by key.
        by_key = positions.argsort()
        order = by_key[(-scores[by_key]).argsort(kind="stable")[:limit]]
        return Found(self.keys[positions[order]].tolist(), scores[order].tolist())


def _small_copies(rows: NDArray[Any]) -> NDArray[np.int8]:
    """Quantise rows to int8, each scaled by its own largest value, which does not change directions."""
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True).astype(np.float32), np.float32(1e-9))
    copies: NDArray[np.int8] = np.rint(rows * (np.float32(127) / largest)).astype(np.int8)
    return copies


# ── multiplies many rows with one vector, in the calling thread ───────────────────────────────────────────────


ROWS_AT_ONCE = 1_000
"""With more rows, numpy's BLAS starts threads. They take longer to wake than this product takes, and spin beside other
work: 10,000 rows of 384 took 8 ms beside a busy process, and 1 ms in pieces."""


def row_products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """`rows @ vector`."""
    if len(rows) <= ROWS_AT_ONCE:
        few: NDArray[np.float32] = rows @ vector
        return few
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        np.dot(rows[start : start + ROWS_AT_ONCE], vector, out=found[start : start + ROWS_AT_ONCE])
    return found
