"""An index of another package: six methods, and it serves both legs of a library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes import plugins
from libraries import quick_library, write

MODULE = '''
import numpy as np

from footnotes.index import Facets, Found, keys_of
from footnotes.index.remote import RemoteIndex


class MemoryIndex(RemoteIndex):
    """Keeps everything in a dictionary, and compares everything."""

    def __init__(self):
        self.entries, self._position = {}, 0

    @property
    def position(self):
        return self._position

    def apply(self, changes, *, position):
        for change in changes:
            gone = set(keys_of(change.removed))
            if not change.only_removed:
                gone |= {key for key, entry in self.entries.items() if entry.document == change.document}
            self.entries = {key: entry for key, entry in self.entries.items() if key not in gone}
            self.entries |= {entry.key: entry for entry in change.entries}
        self._position = position

    def search(self, query, limit, allowed=None):
        scores = self.score(query, [key for key in self.entries if self._passes(key, allowed)])
        if not isinstance(query, np.ndarray):
            scores = {key: score for key, score in scores.items() if score > 0}
        best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
        return Found(best, [scores[key] for key in best])

    def score(self, query, keys):
        scores = {key: self._score(query, self.entries[key]) for key in keys if key in self.entries}
        return {key: score for key, score in scores.items() if score is not None}

    def keys(self):
        return np.array(sorted(self.entries), dtype=np.int64)

    def clear(self):
        self.__init__()

    def _passes(self, key, allowed):
        if allowed is None:
            return True
        if allowed.listed:
            return key in set(allowed.keys.tolist())
        return all(set(group) & set(self.entries[key].facets) for group in allowed.facets)

    def _score(self, query, entry):
        if isinstance(query, Facets):
            return float(bool(set(query.names) & set(entry.facets)))
        if isinstance(query, np.ndarray):
            return float(np.frombuffer(entry.vector, dtype=np.float16) @ query) if entry.vector else None
        return sum(weight * entry.weights.get(place, 0.0) for place, weight in query.items())


class MemoryDatabase:
    legs = frozenset({"dense", "lexical"})
    indexes = {}

    def __init__(self, address):
        self.address = address

    @classmethod
    def opened(cls, settings):
        return cls(settings.index)

    def index(self, scope):
        return self.indexes.setdefault((scope.identity, scope.tenant), MemoryIndex())

    def close(self):
        pass
'''


@pytest.fixture
def own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Any, Any]]:
    """A package with an index, as pip would leave it; gives the indexes it has made."""
    site = tmp_path / "site"
    metadata = site / "own_index-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "own_index.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own-index\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[footnotes.indexes]\nmemory = own_index:MemoryDatabase\n")
    monkeypatch.syspath_prepend(site)
    plugins._entry_points.cache_clear()
    import own_index  # type: ignore[import-not-found]

    own_index.MemoryDatabase.indexes.clear()
    yield own_index.MemoryDatabase.indexes
    plugins._entry_points.cache_clear()


def test_an_index_defined_here_serves_both_legs(own_index: dict[Any, Any], tmp_path: Path) -> None:
    files = write(
        tmp_path / "files",
        gulls_md="# Gulls\n\nGulls nest on the harbour wall.",
        ferry_md="# Ferry\n\nThe ferry leaves at noon.",
        trains_md="# Trains\n\nTrains leave from the station.",
    )
    chosen = {"index": "memory:here", "index_legs": ("dense", "lexical")}
    with quick_library(tmp_path / "library", **chosen) as library:
        library.add(files)
        for mode in ("hybrid", "lexical", "dense"):
            found = library.search("Where do gulls nest?", mode=mode)
            assert found.hits[0].filename == "gulls.md" and not found.degraded, mode
        assert [hit.filename for hit in library.search("leave", where={"filename": "trains.md"}).hits] == ["trains.md"]
        (ferry,) = [document.id for document in library.documents() if document.filename == "ferry.md"]
        library.delete(ferry)
        assert "ferry.md" not in [hit.filename for hit in library.search("When does the ferry leave?", limit=10).hits]
        assert library.verify().ok
    assert sum(len(index.entries) for index in own_index.values()) == 2
    assert not list((tmp_path / "library" / "index").rglob("*.store")), "no index of our own is kept beside it"


def test_an_index_that_lost_everything_is_filled_again(own_index: dict[Any, Any], tmp_path: Path) -> None:
    chosen = {"index": "memory:here", "index_legs": ("dense", "lexical")}
    with quick_library(tmp_path / "library", **chosen) as library:
        library.add_text("Gulls nest on the harbour wall.", filename="gulls.txt")
    own_index.clear()
    with quick_library(tmp_path / "library", **chosen) as library:
        found = library.verify(repair=True)
        assert found.ok and any("filled again" in note or "brought" in note for note in found.repaired)
        assert [hit.filename for hit in library.search("gulls").hits] == ["gulls.txt"]
