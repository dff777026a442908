"""A second process that reads and cuts small files: the same result as without it, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from footnotes import Library
from footnotes.ingest import pipeline
from footnotes.ingest.preparer import Preparer
from footnotes.ingest.work import NewSource
from footnotes.types import Chunk, Document
from libraries import quick_library, words

FILES = 300
"""More than the first group, which is read by the process that writes."""


@pytest.fixture(autouse=True)
def _prepares_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "WORTH_A_PREPARER", 10)
    monkeypatch.setattr(pipeline, "cores", lambda: 2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the process was asked to prepare."""
    found: list[str] = []
    ask = Preparer._ask

    def note(self: Preparer, origins: Sequence[NewSource]) -> object:
        found.extend(origin.filename for origin in origins)
        return ask(self, origins)

    monkeypatch.setattr(Preparer, "_ask", note)
    return found


def _folder(folder: Path) -> Path:
    folder.mkdir()
    for number in range(FILES):
        text = words(number) if number % 3 else f"# Heading {number}\n\n{words(number)}\n\n- one\n- two\n"
        (folder / f"note{number:04}{'.txt' if number % 2 else '.md'}").write_text(text, encoding="utf-8")
    long = "\n\n".join(f"{words(number)} {words(number + 1)}" for number in range(40))
    (folder / "note0270.txt").write_text(long, encoding="utf-8")
    (folder / "note0271.txt").write_text(f"{long}\n\nOne more sentence.", encoding="utf-8")
    (folder / "note0272.txt").write_bytes("Größe und Maß, très bien. ".encode("cp1252") * 20)
    return folder


def _described(library: Library) -> list[tuple[Document, list[Chunk], str]]:
    documents = [replace(each, created_at="", updated_at="") for each in library.documents()]
    return [(each, list(map(_timeless, library.chunks(each.id))), library.text(each.id)) for each in documents]


def _timeless(chunk: Chunk) -> Chunk:
    return replace(chunk, metadata={key: value for key, value in chunk.metadata.items() if key != "ingested_at"})


def test_prepared_documents_are_those_made_without_it(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path / "notes")
    with quick_library(tmp_path / "prepared") as library:
        added = sorted(library.add(folder), key=lambda each: each.path)
        prepared = _described(library)
        assert library.verify().ok
        assert library.search("marker269", limit=1).hits[0].filename == "note0269.txt"
    assert len(asked) == len(list(folder.iterdir())) - 256
    monkeypatch.setattr(pipeline, "WORTH_A_PREPARER", 1_000_000)
    with quick_library(tmp_path / "alone") as library:
        assert sorted(library.add(folder), key=lambda each: each.path) == added
        for alone, with_it in zip(_described(library), prepared, strict=True):
            assert alone == with_it
    assert next(each for each in added if each.path.endswith("note0271.txt")).near_duplicate_of is not None


def test_known_files_are_not_prepared(tmp_path: Path, asked: list[str]) -> None:
    folder = _folder(tmp_path / "notes")
    with quick_library(tmp_path / "library") as library:
        library.add(folder)
        asked.clear()
        assert {each.status for each in library.add(folder)} == {"deduplicated"}
        assert asked == []


def test_files_that_cannot_be_prepared_fail_alone(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "notes")
    (folder / "note0280.md").write_bytes(b"")
    (folder / "note0281.txt").write_bytes(b"\x7fELF" + bytes(200))
    (folder / "note0282.txt").write_bytes(b"<html><body><p>It is a page, whatever its name.</p></body></html>")
    with quick_library(tmp_path / "library") as library:
        added = {Path(each.path).name: each for each in library.add(folder)}
        failed = {name: each.error.code for name, each in added.items() if each.error is not None}
        assert failed == {"note0280.md": "empty_document", "note0281.txt": "unsupported_type"}
        assert added["note0282.txt"].warnings
        assert library.verify().ok


@pytest.mark.parametrize("moment", ["before it answers", "at the start"])
def test_a_process_that_dies_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    start = Preparer._start

    def die(self: Preparer) -> object:
        if moment == "at the start":
            raise OSError("no more processes")
        process = start(self)
        process.kill()
        return process

    monkeypatch.setattr(Preparer, "_start", die)
    with quick_library(tmp_path / "library") as library:
        assert {each.status for each in library.add(_folder(tmp_path / "notes"))} == {"ready"}
        assert library.verify().ok


def test_texts_from_memory_are_prepared(tmp_path: Path, asked: list[str]) -> None:
    texts = [words(number) for number in range(FILES)]
    with quick_library(tmp_path / "library") as library:
        added = library.add_texts(texts, metadata=[{"number": number} for number in range(FILES)])
        assert {each.status for each in added} == {"ready"}
        assert len(asked) == FILES - 256
        assert library.documents(where={"number": FILES - 1})[0].metadata["number"] == FILES - 1
        assert [library.text(str(each.document_id)) for each in added] == texts


def test_an_abandoned_add_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Preparer] = []
    close = Preparer.close

    def note(self: Preparer) -> None:
        close(self)
        closed.append(self)

    monkeypatch.setattr(Preparer, "close", note)
    with quick_library(tmp_path / "library") as library:
        folder = _folder(tmp_path / "notes")
        adding = library.adding(folder)
        next(adding)
        adding.close()
        assert [each._process for each in closed] == [None]
        library.resume()
        assert len(library.documents()) == len(list(folder.iterdir()))
