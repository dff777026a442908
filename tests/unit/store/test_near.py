"""Documents that are nearly the same are found, within tenant and collection, and forgotten with the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.libraries import quick_library

from footnotes.library import Library


def prose(number: int, words: int = 300) -> str:
    return " ".join(f"word{number}x{place * 7919 % 1009}" for place in range(words))


@pytest.fixture
def library(tmp_path: Path) -> Any:
    with quick_library(tmp_path / "library") as opened:
        yield opened


def bands(library: Library) -> int:
    row: Any = library._store.database.reader.execute("SELECT COUNT(*) FROM sketch_bands").fetchone()
    return int(row[0])


def pairs(library: Library) -> dict[str | None, str | None]:
    return {key: near.document_id for key, near in library.near_duplicates().items()}


def test_a_changed_copy_is_reported_with_its_likeness(library: Library) -> None:
    first = library.add_text(prose(1), filename="one.txt")
    second = library.add_text(prose(1) + " and a last sentence that was added later", filename="two.txt")
    other = library.add_text(prose(2), filename="other.txt")
    assert first.near_duplicate_of is None and other.near_duplicate_of is None
    assert second.near_duplicate_of is not None
    assert second.near_duplicate_of.document_id == first.document_id
    assert second.near_duplicate_of.filename == "one.txt"
    assert 0.8 <= second.near_duplicate_of.similarity <= 1.0
    assert library.near_duplicates() == {second.document_id: second.near_duplicate_of}
    assert library.status()["near_duplicates"] == 1


def test_copies_in_one_batch_are_found(library: Library, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(prose(1) + f"\n\n{name}")
    added = library.add(tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt")
    assert [item.near_duplicate_of is not None for item in added] == [False, True, True]
    assert {item.near_duplicate_of.document_id for item in added[1:]} == {added[0].document_id}  # type: ignore[union-attr]


def test_collections_and_tenants_do_not_see_each_other(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as one:
        one.add_text(prose(1), filename="one.txt")
        assert one.add_text(prose(1) + ".", filename="two.txt", collection="apart").near_duplicate_of is None
    with quick_library(tmp_path / "library", user="somebody") as two:
        assert two.add_text(prose(1) + "!", filename="three.txt").near_duplicate_of is None


def test_a_document_that_goes_takes_its_sketch_along(library: Library) -> None:
    ids = [library.add_text(prose(1) + mark, filename=f"{mark}.txt").document_id for mark in (".", "!", "?")]
    assert pairs(library) == {
        ids[1]: ids[0],
        ids[2]: ids[0],
    }
    assert ids[0] is not None
    library.delete(ids[0])
    assert pairs(library) == {ids[2]: ids[1]}
    library.delete(*filter(None, ids[1:]))
    assert library.near_duplicates() == {} and bands(library) == 0


def test_an_edit_is_compared_anew(library: Library) -> None:
    library.add_text(prose(1), filename="one.txt", source="s1")
    library.add_text(prose(1) + ".", filename="two.txt", source="s2")
    before = bands(library)
    replaced = library.add_text(prose(2), filename="two.txt", source="s2")
    assert replaced.status == "replaced" and replaced.near_duplicate_of is None
    assert library.near_duplicates() == {} and bands(library) == before
    again = library.add_text(prose(1) + "!", filename="two.txt", source="s2")
    assert again.near_duplicate_of is not None and again.near_duplicate_of.document_id != again.document_id
    library.add_text(prose(3), filename="one.txt", source="s1")
    assert library.near_duplicates() == {}


def test_every_one_of_many_copies_is_found(library: Library, tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"{number:03}.txt").write_text(prose(1, 60) + f"\n{number}")
    added = library.add(*sorted(tmp_path.glob("*.txt")))
    assert sum(item.near_duplicate_of is not None for item in added) == 119


def test_an_import_is_compared_too(library: Library, tmp_path: Path) -> None:
    library.add_text(prose(1), filename="one.txt")
    library.export(tmp_path / "export.jsonl")
    with quick_library(tmp_path / "other") as other:
        other.add_text(prose(1) + ".", filename="here.txt")
        other.import_(tmp_path / "export.jsonl")
        assert len(other.near_duplicates()) == 1
