"""Promise F: after delete returns, never found and never cited; after compaction no byte of it in the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.library import Library
from libraries import quick_library

CANARY = "zebrafinchquagga"


def places_of(canary: str, folder: Path) -> list[str]:
    """Files that hold the word: as it was written, or as the lexical index spells it."""
    forms = [canary.encode(), canary.encode("utf-16-le"), canary[:-1].encode()]
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


@pytest.fixture
def with_canary(tmp_path: Path) -> Library:
    library = quick_library(tmp_path / "library")
    for number in range(5):
        library.add_text(f"An ordinary text number {number} that stays.", filename=f"{number}.txt")
    text = f"# {CANARY} title\n\nThe {CANARY} lives here. " + "More words follow. " * 50
    library.add_text(text, filename=f"{CANARY}.md", metadata={"note": CANARY}, source=f"s-{CANARY}")
    assert places_of(CANARY, tmp_path / "library"), "the canary must be there to begin with"
    return library


def test_nothing_is_left_after_delete_and_compaction(with_canary: Library, tmp_path: Path) -> None:
    document = next(d for d in with_canary.documents() if CANARY in d.filename)
    with_canary.delete(document.id)
    for mode in ("lexical", "dense", "hybrid"):
        assert all(CANARY not in hit.text for hit in with_canary.search(CANARY, mode=mode).hits)
    assert not with_canary.ask(f"Where does the {CANARY} live?").citations
    with_canary.compact()
    with_canary.close()
    assert places_of(CANARY, tmp_path / "library") == []


def test_nothing_is_left_of_a_replaced_version(with_canary: Library, tmp_path: Path) -> None:
    with_canary.add_text("A quiet text.", filename="quiet.md", source=f"s-{CANARY}")
    document = next(d for d in with_canary.documents() if d.filename == "quiet.md")
    assert CANARY not in with_canary.text(document.id)
    with_canary.delete(document.id, compact=True)
    with_canary.close()
    assert places_of(CANARY, tmp_path / "library") == []


def test_vectors_go_with_the_last_text_that_needs_them(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        first = library.add_text("Two documents share this text.", filename="a.txt", collection="one")
        second = library.add_text("Two documents share this text.", filename="a.txt", collection="two")
        count = "SELECT COUNT(*) FROM embeddings"
        reader = library._store.database.reader
        assert reader.execute(count).fetchone() == (1,)
        library.delete(str(first.document_id))
        assert reader.execute(count).fetchone() == (1,)
        library.delete(str(second.document_id))
        assert reader.execute(count).fetchone() == (0,)


def test_a_dropped_generation_takes_its_vectors_along(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("Something to embed twice.", filename="a.txt")
        library.reindex(embedder="hashing:32")
        reader = library._store.database.reader
        assert reader.execute("SELECT COUNT(*), MAX(LENGTH(vector)) FROM embeddings").fetchone() == (1, 64)


def test_nothing_is_left_of_a_deleted_collection(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with quick_library(folder) as library:
        library.set_collection(CANARY, system_prompt=f"Answer as a {CANARY} would.")
        file = tmp_path / "note.txt"
        file.write_text("Nothing of note.")
        library.add(file, collection=CANARY)
        library.add_text("Something that stays.", filename="stays.txt")
        library.reindex(keep=True)
        library.delete(collection=CANARY)
        assert [row["name"] for row in library.collections()] == ["default"]
        library.compact()
    assert places_of(CANARY, folder) == []
