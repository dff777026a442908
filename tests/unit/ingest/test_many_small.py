"""Many small documents: few statements, and the same result as one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from footnotes import Library
from footnotes.errors import ProviderUnavailable
from footnotes.text.tokens import count_tokens
from libraries import quick_library, words

FILES = 300
"""More than one group that is read together, and more than one batch that is written together."""


def _folder(folder: Path, count: int = FILES) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"note{number:04}.txt").write_text(words(number), encoding="utf-8")
    return folder


def test_a_small_document_costs_at_most_three_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, statements = _folder(tmp_path / "notes"), Counter[str]()

    def count(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.update([event["sql"]]))

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, count])
    with quick_library(tmp_path / "library") as library:
        opened = statements.total()
        added = library.add(folder)
        took = statements.total() - opened
        assert [each.status for each in added] == ["ready"] * FILES
        assert took <= 3 * FILES, statements.most_common(10)


def test_documents_of_a_group_are_found_whole(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add(_folder(tmp_path / "notes"), metadata=lambda path: {"stem": path.stem})
        for number in (0, 1, 63, 64, 255, 256, FILES - 1):
            hit = library.search(f"marker{number}", limit=1, where={"stem": f"note{number:04}"}).hits[0]
            assert hit.text == words(number)
            assert library.text(hit.document_id) == words(number)
        documents = library.documents()
        assert [document.filename for document in documents] == [f"note{number:04}.txt" for number in range(FILES)]
        assert {document.version for document in documents} == {1}
        chunks = [chunk for document in documents[:3] for chunk in library.chunks(document.id)]
        assert [chunk.tokens for chunk in chunks] == [count_tokens(chunk.text) for chunk in chunks]
        assert library.verify().ok


class _Counting:
    """Vectors by the length of texts; says which texts it was given, and fails when told to."""

    name, fingerprint, dimensions, max_tokens = "test:counting", "counting-1", 8, 0

    def __init__(self, *, works: bool = True) -> None:
        self.works, self.given = works, Counter[str]()

    def embed(self, texts: Sequence[str], *, role: str) -> NDArray[np.float32]:
        if not self.works:
            raise ProviderUnavailable("the embedder is away")
        if role == "passage":
            self.given.update(texts)
        rows = [[1.0 + len(text) % 7, *map(float, range(7))] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_a_quick_embedder_makes_vectors_before_texts_are_written(tmp_path: Path) -> None:
    embedder = _Counting()
    with Library(tmp_path / "library", embedder=embedder) as library:  # type: ignore[arg-type]
        added = library.add(_folder(tmp_path / "notes"))
        assert [each.status for each in added] == ["ready"] * FILES
        assert set(embedder.given.values()) == {1} and len(embedder.given) == FILES
        assert library.verify().ok
        assert library.search("marker7", mode="dense").hits


@pytest.mark.slow
def test_an_embedder_that_is_away_leaves_many_documents_to_their_words(tmp_path: Path) -> None:
    embedder = _Counting(works=False)
    with Library(tmp_path / "library", embedder=embedder) as library:  # type: ignore[arg-type]
        added = library.add(_folder(tmp_path / "notes"))
        assert {each.status for each in added} == {"failed"}
        assert library.search("marker7", mode="lexical").hits[0].filename == "note0007.txt"
        embedder.works = True
        assert {each.status for each in library.resume()} == {"ready"}
        assert library.verify().ok


def test_one_bad_file_of_a_group_fails_alone(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "notes", 20)
    (folder / "note0007.txt").write_bytes(b"")
    (folder / "note0011.txt").write_bytes(b"\x7fELF" + bytes(200))
    with quick_library(tmp_path / "library") as library:
        failed = [Path(each.path).name for each in library.add(folder) if each.status == "failed"]
        assert failed == ["note0007.txt", "note0011.txt"]
        assert sum(document.status == "ready" for document in library.documents()) == 18


def test_the_same_bytes_twice_in_a_group_are_one_document(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "notes", 20)
    (folder / "note0013.txt").write_text(words(4), encoding="utf-8")
    with quick_library(tmp_path / "library") as library:
        statuses = {Path(each.path).name: each.status for each in library.add(folder)}
        assert statuses["note0013.txt"] == "deduplicated"
        assert len(library.documents()) == 19


def test_files_that_change_places_are_told_apart(tmp_path: Path) -> None:
    """What the store said of a group is asked again once a file of it has replaced a document."""
    folder = _folder(tmp_path / "notes", 6)
    with quick_library(tmp_path / "library") as library:
        library.add(folder)
        (folder / "note0001.txt").write_text("Nothing of what stood here before. " * 5, encoding="utf-8")
        (folder / "note0003.txt").write_text(words(1), encoding="utf-8")
        library.add(folder)
        by_source = {Path(each.source).name: library.text(each.id) for each in library.documents()}
        assert by_source["note0001.txt"].startswith("Nothing of what")
        assert by_source["note0003.txt"] == words(1)
        assert library.verify().ok


def test_documents_of_a_group_that_are_nearly_the_same_are_told(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "notes", 8)
    text = " ".join(words(number) for number in range(40, 50))
    (folder / "first.txt").write_text(text, encoding="utf-8")
    (folder / "second.txt").write_text(text + " One more sentence.", encoding="utf-8")
    (tmp_path / "third.txt").write_text(text + " And quite another one.", encoding="utf-8")
    with quick_library(tmp_path / "library") as library:
        added = [*library.add(folder), *library.add(tmp_path / "third.txt")]
        alike = {Path(each.path).name: each.near_duplicate_of for each in added if each.near_duplicate_of is not None}
        assert {name: other.filename for name, other in alike.items()} == {
            "second.txt": "first.txt",
            "third.txt": "first.txt",
        }
