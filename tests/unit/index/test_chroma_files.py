"""The files of a Chroma folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from chroma_indexes import D, Places, changes, entry, scope, vectors
from footnotes.errors import IndexUnavailable
from footnotes.index import Change, Vector
from footnotes.index.chroma import ChromaDatabase
from footnotes.settings import Settings


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path / "chroma")
    yield made
    made.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    database = ChromaDatabase.opened(Settings(index=f"chroma:{tmp_path}/file/folder"))
    with pytest.raises(IndexUnavailable, match="cannot be opened"):
        database.index(scope()).refresh()
    database.close()


def left(folder: Path, texts: Sequence[bytes], row: Vector) -> set[str]:
    """The files that have one of the texts in them, or the row: as it was given, or of length 1."""
    found = set()
    for path in folder.rglob("*.*"):
        content = path.read_bytes()
        if row.tobytes() in content or has_near(content, row) or any(text in content for text in texts):
            found.add(path.name)
    return found


def has_near(content: bytes, row: Vector) -> bool:
    numbers = np.frombuffer(content[: len(content) // 4 * 4], dtype=np.float32)
    if len(numbers) < D:
        return False
    with np.errstate(all="ignore"):
        windows = np.lib.stride_tricks.sliding_window_view(numbers, D)
        likely = windows[np.abs(windows[:, 0] - row[0]) < 2e-3]
        return bool((np.abs(likely - row) < 2e-3).all(axis=1).any())


def test_nothing_is_left_of_what_was_removed(places: Places, tmp_path: Path) -> None:
    rows, folder = vectors(1_300), tmp_path / "chroma"
    index = places.database().index(scope())
    secret = [
        entry(key, 9_999, rows[key - 1], facets=("facet:xylophone",), metadata={"note": "quagmire"})
        for key in range(1_201, 1_251)
    ]
    index.apply([Change(1, 9_999, secret), *changes(rows[:1_200])], position=1)
    index.apply(changes(rows[1_200:1_205], seq=2, first=20_001), position=2)
    texts, row, other = (b"quagmire", b"xylophone"), rows[1_210], rows[4]
    graph = "data_level0.bin"
    assert left(folder, texts, row) >= {"chroma.sqlite3", graph} and graph in left(folder, (), other)
    index.apply([Change(3, 9_999, ())], position=3)
    assert left(folder, texts, row) >= {"chroma.sqlite3", graph}  # Chroma by itself leaves them
    index.compact()
    assert left(folder, texts, row) == set()
    assert left(folder, (), other)
    assert index.refresh() == 3 and len(index.keys()) == 1_205
    assert index.search(rows[4], 1).keys == [5]


def test_nothing_is_left_of_what_was_cleared(places: Places, tmp_path: Path) -> None:
    rows, folder = vectors(1_200), tmp_path / "chroma"
    database = places.database()
    index, neighbour = database.index(scope()), database.index(scope("bob"))
    neighbour.apply(changes(rows[:30]), position=1)
    index.apply(
        [Change(1, 1, [entry(key, 1, rows[key - 1], metadata={"n": "quagmire"}) for key in range(1, 1_201)])],
        position=1,
    )
    assert left(folder, (b"quagmire",), rows[900]) >= {"chroma.sqlite3", "data_level0.bin"}
    index.clear()
    assert left(folder, (b"quagmire",), rows[900]) == set()
    assert neighbour.search(rows[3], 1).keys == [4] and len(neighbour.keys()) == 30
