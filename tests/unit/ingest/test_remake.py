"""Documents that are made again in the generation that serves, from their stored text or from their originals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footnotes.errors import NotFound
from footnotes.library import Library
from footnotes.settings import load

TEXT = "The bridge was built in 1974.\n\nThe tower was built in 1889.\n\nThe tunnel was built in 1994."
SMALL = {"tokens": 16, "overlap": 0}


@pytest.mark.parametrize("keep", [False, True])
def test_only_documents_of_another_chunker_are_made_again(tmp_path: Path, keep: bool) -> None:
    settings = replace(load(tmp_path / "library", embedder="hashing"), keep_originals=keep)
    with Library(tmp_path / "library", settings=settings) as library:
        first = library.add_text(TEXT, filename="a.md", metadata={"year": 1974})
        library.add_text("Something else.", filename="b.md", collection="b")
        before, generation = library.document(str(first.document_id)), library.generation
        assert library.reindex(outdated=True)["documents"] == 0
        library.set_collection("default", chunker="rules", chunker_options=SMALL)
        assert library.count_outdated() == 1
        done = library.reindex(outdated=True)
        assert (done["documents"], done["generation"]) == (1, generation) and library.count_outdated() == 0
        after = library.document(before.id)
        assert (after.chunks, after.version) == (3, before.version + 1) and after.updated_at > before.updated_at
        assert (after.metadata, after.source, after.file_hash) == (before.metadata, before.source, before.file_hash)
        assert library.text(before.id) == TEXT
        (hit,) = library.search("When was the tower built?", limit=1).hits
        assert hit.text == "The tower was built in 1889." and library.verify().ok


def test_documents_that_are_published_behind_the_reading_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnotes.ingest.writing.WORTH_A_PROCESS", 2)
    with Library(tmp_path / "library", settings=load(tmp_path / "library", embedder="hashing")) as library:
        for name in ("a.md", "b.md"):
            library.add_text(f"{name}: {TEXT}", filename=name)
        library.set_collection("default", chunker="rules", chunker_options=SMALL)
        assert library.reindex(outdated=True)["documents"] == 2
        assert library.count_outdated() == 0 and library.verify().ok


def test_a_document_that_is_not_there_cannot_be_made_again(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=load(tmp_path / "library", embedder="hashing")) as library:
        library.add_text(TEXT, filename="a.md")
        with pytest.raises(NotFound):
            library.reindex(documents=["d0"])


def test_documents_are_found_and_deleted_by_checksum(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=load(tmp_path / "library", embedder="hashing")) as library:
        made = library.document(str(library.add_text(TEXT, filename="a.md").document_id))
        library.add_text("Something else.", filename="b.md")
        assert [one.id for one in library.documents(where={"checksum": made.file_hash})] == [made.id]
        hits = library.search("built", where={"checksum": made.file_hash}).hits
        assert {hit.document_id for hit in hits} == {made.id}
        assert library.delete(checksum=made.file_hash) == [made.id]
        assert [one.filename for one in library.documents()] == ["b.md"]
        with pytest.raises(NotFound):
            library.delete(checksum=made.file_hash)
