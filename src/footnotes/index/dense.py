"""The dense leg: vectors in key order, compared one by one if few, and through a graph (HNSW) if many.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small
World graphs", 2018. The graph holds int8 copies; its candidates are scored again from the stored vectors.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from footnotes.index import Allowed, Change, Entry, Found, IndexDamaged, Keys, Vector, manifest
from footnotes.index.dense_files import (
    Contents,
    Graph,
    Rows,
    Segment,
    check_file,
    fixed_point,
    load_segment,
    read_contents,
    write_contents,
    write_segment,
)
from footnotes.index.dense_view import EXACT_ROWS, SCANNED_ROWS, DenseView

FORMAT = 2
GRAPH_TAIL = 500
GRAPH_TAIL_SHARE = 0.02
GRAPH_TAIL_MOST = 10_000
"""Rows outside the graph before it is extended: a share of the rows inside, within bounds."""
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 256
"""Parameters of the graph: searching 256, not 128, gives results as good as exact search (docs/evaluation.md)."""
_GROW_BATCH = 2_048
_REMOVED_SHARE = 0.2
_BUFFER_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class GrownGraph:
    """A graph in memory, not saved yet: it covers the first `rows` rows, up to `last_key`."""

    graph: Any
    last_key: int
    rows: int


@dataclass(frozen=True, slots=True)
class DenseReader:
    """An immutable view of the index for one search, and the last change in it."""

    view: DenseView
    position: int

    def search(self, vector: Vector, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the nearest chunks, best first, and only those `allowed`."""
        if limit < 1:
            return Found()
        if allowed is not None:
            return self.view.search_within(vector, limit, allowed.keys)
        return self.view.search(vector, limit)

    def score(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact cosine of given chunks."""
        positions = self.view.positions(np.asarray(keys, dtype=np.int64))
        scores = self.view.similarities(vector, positions).tolist()
        return dict(zip(self.view.keys[positions].tolist(), scores, strict=True))

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        """Return the vectors of given chunks, a row each; None if one of them is missing."""
        positions = self.view.positions(np.asarray(keys, dtype=np.int64))
        return self.view.rows(positions) if 0 < len(positions) == len(keys) else None


class DenseIndex:
    """Vectors in a folder. Readers share it; the store's lock admits one writer at a time."""

    def __init__(self, folder: Path, identity: str, dimensions: int) -> None:
        self._folder = folder
        self._identity = identity
        self._dimensions = dimensions
        self._contents = self._nothing()
        self._checked: set[str] = set()
        self._reader = DenseReader(_empty_view(), 0)
        self.refresh()

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def _view(self) -> DenseView:
        return self._reader.view

    def _show(self, view: DenseView) -> None:
        """Publish a view of the contents to searches: rows and position change in one step."""
        self._reader = DenseReader(view, self._contents.seq)

    # ── reading

    def refresh(self) -> int:
        """Read the folder again; return the last change in the index on disk."""
        contents = read_contents(self._folder)
        if contents is None:
            self._contents = self._nothing()
            self._show(_empty_view())
        elif contents != self._contents:
            if (contents.identity, contents.format) != (self._identity, FORMAT):
                raise IndexDamaged("the index belongs to something else or to another version")
            view = self._load(contents)
            view.prepare_like(self._view)
            self._contents = contents
            self._show(view)
        return self._contents.seq

    @property
    def reader(self) -> DenseReader:
        """The current view, for one search."""
        return self._reader

    def search(self, vector: Vector, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the nearest chunks, best first, and only those `allowed`."""
        return self.reader.search(vector, limit, allowed)

    def score(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact cosine of given chunks."""
        return self.reader.score(vector, keys)

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        """Return the vectors of given chunks, a row each; None if one of them has been removed."""
        return self.reader.vectors(keys)

    def count(self) -> int:
        return int(self._view.alive.sum())

    def keys(self) -> Keys:
        view = self._view
        return view.keys[view.alive]

    def _load(self, contents: Contents) -> DenseView:
        keys: list[Keys] = []
        parts: list[Rows] = []
        for segment in contents.segments:
            check = segment.name not in self._checked
            segment_keys, vectors = load_segment(self._folder, segment, self._dimensions, check=check)
            self._checked.add(segment.name)
            keys.append(segment_keys)
            parts.append(vectors)
        if not keys:
            return _empty_view()
        all_keys = np.concatenate(keys)
        if len(all_keys) > 1 and not (np.diff(all_keys) > 0).all():
            raise IndexDamaged("the keys are out of order")
        graph, rows = self._load_graph(contents, all_keys)
        return DenseView(all_keys, parts, _alive(all_keys, contents.removed), graph, rows)

    def _load_graph(self, contents: Contents, keys: Keys) -> tuple[object, int]:
        if contents.graph is None or len(keys) <= SCANNED_ROWS:  # earlier versions built graphs of so few rows
            return None, 0
        path = self._folder / contents.graph.name
        if contents.graph.name not in self._checked:
            check_file(path, contents.graph.crc)
            self._checked.add(contents.graph.name)
        if self._view.graph is not None and self._contents.graph == contents.graph:
            return self._view.graph, int(np.searchsorted(keys, contents.graph.last_key, side="right"))
        graph = _new_graph(self._dimensions)
        graph.view(str(path))
        graph.expansion_search = _EXPANSION_SEARCH
        return graph, int(np.searchsorted(keys, contents.graph.last_key, side="right"))

    # ── writing

    def apply(self, changes: Iterable[Change], *, position: int) -> None:
        """Apply changes: write new rows as a segment, and mark removed ones."""
        self._folder.mkdir(parents=True, exist_ok=True)
        buffer: list[Entry] = []
        buffered: set[int] = set()
        removed = list(self._contents.removed)
        for change in changes:
            if change.document in buffered:
                buffer = [entry for entry in buffer if entry.document != change.document]
            removed.extend(change.removed)
            buffered.add(change.document)
            for entry in change.entries:
                buffer.append(entry)
                if len(buffer) >= _BUFFER_ROWS:
                    self._append(buffer)
                    buffer, buffered = [], {change.document}
        self._append(buffer)
        self._contents = replace(self._contents, removed=tuple(removed), seq=position)
        self._drop_if_mostly_removed()
        write_contents(self._folder, self._contents)
        self._show(self._load(self._contents))

    def clear(self) -> None:
        self._contents, self._checked = self._nothing(), set()
        self._show(_empty_view())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _append(self, entries: Sequence[Entry]) -> None:
        """Add rows. Merge small segments at the end with the new one, so that few remain."""
        fresh = self._unknown(entries)
        if not fresh:
            return
        keys = np.array([entry.key for entry in fresh], dtype=np.int64)
        rows = fixed_point(b"".join(entry.vector for entry in fresh))
        if len(rows) != len(keys) * self._dimensions:
            raise IndexDamaged("a stored vector has the wrong length")
        rows = rows.reshape(len(keys), self._dimensions)
        segments = [*self._contents.segments]
        late = bool(segments) and int(keys[0]) < self._last_key()
        while segments and (late or segments[-1].rows <= 2 * len(keys)):
            before_keys, before_rows = load_segment(self._folder, segments.pop(), self._dimensions, check=False)
            keys, rows = np.concatenate([before_keys, keys]), np.concatenate([before_rows, rows])
        if late:
            order = np.argsort(keys)
            keys, rows = keys[order], rows[order]
        segments.append(write_segment(self._folder, keys, [rows]))
        self._checked.add(segments[-1].name)
        # A graph covers every row up to its last key, so searches would miss rows inserted below it.
        graph = None if late else self._contents.graph
        self._contents = replace(self._contents, segments=tuple(segments), graph=graph)

    def _unknown(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries whose keys are new; an interrupted run may have written some already."""
        ordered = sorted(entries, key=lambda entry: entry.key)
        if not ordered or ordered[0].key > self._last_key():
            return ordered
        known: set[int] = set()
        for segment in self._contents.segments:
            known.update(load_segment(self._folder, segment, self._dimensions, check=False)[0].tolist())
        return [entry for entry in ordered if entry.key not in known]

    def _last_key(self) -> int:
        if not self._contents.segments:
            return 0
        return int(self._contents.segments[-1].name.split("-")[2])

    def _drop_if_mostly_removed(self) -> None:
        """Rewrite the segments without removed rows once these exceed a fifth; this also drops the graph."""
        total = sum(segment.rows for segment in self._contents.segments)
        removed = sum(count for _, count in self._contents.removed)
        if removed and (removed > _REMOVED_SHARE * total or total <= EXACT_ROWS):
            self.compact(publish=False)

    def compact(self, *, publish: bool = True) -> None:
        """Write only live rows. No data of a removed row stays on disk."""
        if self._contents.removed:
            view = self._load(replace(self._contents, graph=None))
            keys, positions = view.keys[view.alive], np.flatnonzero(view.alive)
            rows = view.raw(positions) if len(positions) else None
            segments: tuple[Segment, ...] = ()
            if rows is not None:
                segments = (write_segment(self._folder, keys, [rows]),)
                self._checked.add(segments[0].name)
            self._contents = replace(self._contents, segments=segments, removed=(), graph=None)
        if publish and self._folder.is_dir():
            write_contents(self._folder, self._contents)
            self._show(self._load(self._contents))

    # ── the graph

    @property
    def has_graph(self) -> bool:
        return self._view.graph is not None

    def wants_graph(self) -> bool:
        """Return whether enough rows are outside the graph to extend it."""
        share = int(self._view.graph_rows * GRAPH_TAIL_SHARE)
        enough = min(max(GRAPH_TAIL, share), GRAPH_TAIL_MOST)
        return len(self._view.keys) > SCANNED_ROWS and self._view.uncovered > enough

    def build_graph(self, *, progress: Callable[[int, int], None] | None = None, threads: int = 0) -> GrownGraph:
        """Build a graph of all rows on a copy, without a lock: searches and writes continue meanwhile."""
        contents, view = self._contents, self._view
        graph = _new_graph(self._dimensions)
        first = 0
        if contents.graph is not None:
            graph.load(str(self._folder / contents.graph.name))
            first = view.graph_rows
        positions = np.flatnonzero(view.alive[first:]) + first
        for start in range(0, len(positions), _GROW_BATCH):
            batch = positions[start : start + _GROW_BATCH]
            graph.add(view.keys[batch], view.rows(batch), threads=threads)
            if progress is not None:
                progress(min(start + _GROW_BATCH, len(positions)), len(positions))
        return GrownGraph(graph, int(view.keys[-1]), len(view.keys))

    def publish_graph(self, grown: GrownGraph) -> bool:
        """Save a graph and search with it from now on. Return False if rows were added below its last key meanwhile."""
        if int(np.searchsorted(self._view.keys, grown.last_key, side="right")) > grown.rows:
            return False
        name = f"graph-{grown.last_key}-{len(grown.graph)}.usearch"
        grown.graph.save(str(self._folder / name))
        self._checked.add(name)
        graph = Graph(name, grown.last_key, manifest.crc_of(self._folder / name))
        contents = replace(self._contents, graph=graph)
        write_contents(self._folder, contents)
        # Load before the contents name the new graph, or the old one in memory would be taken for it.
        view = self._load(contents)
        self._contents = contents
        self._show(view)
        return True

    def _nothing(self) -> Contents:
        return Contents(self._identity, FORMAT, 0, self._dimensions)


def _new_graph(dimensions: int) -> Any:
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
    )


def _alive(keys: Keys, removed: Sequence[tuple[int, int]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    alive = np.ones(len(keys), dtype=np.bool_)
    for first, count in removed:
        start, end = np.searchsorted(keys, [first, first + count])
        alive[start:end] = False
    return alive


def _empty_view() -> DenseView:
    return DenseView(np.zeros(0, dtype=np.int64), [], np.zeros(0, dtype=np.bool_), None, 0)
