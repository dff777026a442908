"""Taking a collection over, on both stores: appended, exact, again without effect, gone on with after a break."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from command_line import run
from footnotes.errors import DimensionMismatch, OptionError
from footnotes.library import Library
from importing import PAGES, json_file, records, with_vectors
from libraries import quick_library

Opened = Callable[..., Library]


@pytest.fixture(params=["folder", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens the same library again and again."""
    store = request.getfixturevalue("postgres").fresh() if request.param == "postgresql" else ""

    def open_library(**settings: Any) -> Library:
        return quick_library(tmp_path / "library", store=store, **settings)

    return open_library


@pytest.fixture
def library(opened: Opened) -> Iterator[Library]:
    with opened() as library:
        yield library


def state(library: Library) -> list[Any]:
    """All that must be the same afterwards."""
    found = []
    for document in library.documents():
        chunks = [(chunk.id, chunk.start, chunk.end, chunk.text, chunk.pages) for chunk in library.chunks(document.id)]
        found.append((document.id, document.filename, document.source, document.version, document.status, chunks))
    return found


def test_records_become_documents_that_are_found_and_cited_exactly(library: Library, tmp_path: Path) -> None:
    done = library.import_from(json_file(tmp_path, with_vectors(records())), collection="old")
    assert (done.records, done.added, done.skipped, done.chunks) == (5, 2, 0, 5)
    assert done.vectors.taken_over == 5
    handbook, travel = library.documents(collection="old")
    assert (handbook.filename, handbook.title, handbook.pages) == ("handbook.pdf", "handbook", 3)
    assert handbook.metadata["source"] == "docs/handbook.pdf" and "page" not in handbook.metadata
    assert "not that of the file" in handbook.warnings[0]
    assert library.text(handbook.id) == "\n\n".join(PAGES["handbook.pdf"])
    for document in (handbook, travel):
        text = library.text(document.id)
        for number, chunk in enumerate(library.chunks(document.id)):
            assert text[chunk.start : chunk.end] == chunk.text == PAGES[document.filename][number]
            assert chunk.pages == (number + 1, number + 1) and chunk.metadata["page"] == number
    answer = library.ask("How many days of paid leave has every employee?")
    (citation, *_) = answer.citations
    assert citation.filename == "handbook.pdf" and citation.page == 3
    assert library.text(citation.document_id, citation.start, citation.end) == citation.quote
    assert library.search("leave", where="source=nothing").hits == ()
    assert {hit.filename for hit in library.search("notice", where="metadata.source=docs/handbook.pdf").hits} == {
        "handbook.pdf"
    }
    assert library.verify().ok


def test_the_same_again_adds_nothing(library: Library, tmp_path: Path) -> None:
    source = json_file(tmp_path, with_vectors(records()))
    library.import_from(source)
    before = state(library)
    done = library.import_from(source)
    assert (done.added, done.skipped, done.vectors.taken_over, done.vectors.embedded) == (0, 2, 0, 0)
    moved = library.import_from(json_file(tmp_path, records(), "moved.json"))  # from elsewhere, and without vectors
    assert (moved.added, moved.skipped) == (0, 2)
    assert state(library) == before


def test_other_content_of_the_same_source_stands_beside_what_was_there(library: Library, tmp_path: Path) -> None:
    source = json_file(tmp_path, records())
    library.import_from(source)
    before = state(library)
    changed = {**PAGES, "travel.pdf": ["Trips under five hours are made by train."]}
    done = library.import_from(json_file(tmp_path, records(changed)))
    assert (done.added, done.skipped) == (1, 1)
    after = state(library)
    assert after[:2] == before
    assert after[2][2].startswith(before[1][2] + "@") and after[2][1] == "travel.pdf"
    assert library.import_from(json_file(tmp_path, records(changed))).added == 0
    assert library.verify().ok


def test_a_file_that_was_added_keeps_its_name_and_its_next_version(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Trains leave at noon.")
    (added,) = library.add(file)
    library.import_from(json_file(tmp_path, [{"text": "Trains leave at dawn.", "metadata": {"source": str(file)}}]))
    assert len(library.documents()) == 2
    file.write_text("Trains leave at midnight.")
    (again,) = library.add(file)
    assert again.document_id == added.document_id and again.status == "replaced"
    assert len(library.documents()) == 2


def test_equal_records_without_a_source_are_one_document(library: Library, tmp_path: Path) -> None:
    done = library.import_from(json_file(tmp_path, [{"text": "Once."}, {"text": "Twice."}, {"text": "Once."}]))
    assert (done.added, done.skipped, done.chunks) == (2, 1, 2)
    assert sorted(library.text(document.id) for document in library.documents()) == ["Once.", "Twice."]


def test_overlapping_neighbours_stay_as_they_are(library: Library, tmp_path: Path) -> None:
    texts = ["one two three", "two three four", "three four five"]
    library.import_from(json_file(tmp_path, records({"a.txt": texts})))
    (document,) = library.documents()
    assert [chunk.text for chunk in library.chunks(document.id)] == texts
    assert library.text(document.id) == "\n\n".join(texts)


def test_a_document_larger_than_a_batch_is_written_piece_by_piece(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.importer.BATCH_CHUNKS", 7)
    monkeypatch.setattr("footnotes.ingest.importing.importer.PART_CHARACTERS", 100)
    pages = {f"{name}.pdf": [f"Rule {name} {number} of the book." for number in range(40)] for name in ("a", "b")}
    done = library.import_from(json_file(tmp_path, with_vectors(records(pages))))
    assert (done.added, done.chunks, done.vectors.taken_over) == (2, 80, 80)
    for document in library.documents():
        assert library.text(document.id) == "\n\n".join(pages[document.filename])
        assert [chunk.text for chunk in library.chunks(document.id)] == pages[document.filename]
    assert library.verify().ok


@pytest.mark.parametrize("stage", ["importing", "indexing", "embedding"])
def test_an_import_that_was_stopped_is_gone_on_with(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.importer.BATCH_CHUNKS", 4)
    pages = {f"{number}.pdf": [f"Rule {number} {page}." for page in range(3)] for number in range(8)}
    source = json_file(tmp_path, records(pages))
    seen = 0

    def stop(progress: Any) -> None:
        nonlocal seen
        seen += progress.stage == stage
        if seen == (5 if stage == "indexing" else 1):
            raise KeyboardInterrupt

    with opened() as library, pytest.raises(KeyboardInterrupt):
        library.import_from(source, on_progress=stop)
    with opened() as library:
        here = len(library.documents())
        assert here == {"importing": 0, "indexing": 4, "embedding": 8}[stage]
        done = library.import_from(source)
        assert (done.added, done.skipped) == (8 - here, here)
        assert {document.status for document in library.documents()} == {"ready"}
        found = {filename: [chunk[3] for chunk in chunks] for _, filename, *_, chunks in state(library)}
        assert found == pages
        assert library.verify().ok
        assert not any((library.folder / "incoming").glob("**/*.db"))


def test_a_break_in_the_middle_of_a_document_leaves_no_half_of_it(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.importer.BATCH_CHUNKS", 5)
    monkeypatch.setattr("footnotes.ingest.importing.importer.PART_CHARACTERS", 60)
    pages = {"a.pdf": [f"Rule {page} of a long book." for page in range(40)]}
    source = json_file(tmp_path, records(pages))
    stopped_at_the_sixth = [*(None for _ in range(5)), KeyboardInterrupt]
    broken = patch("footnotes.text.sketch.Sketcher.add", side_effect=stopped_at_the_sixth)
    with opened() as library, broken, pytest.raises(KeyboardInterrupt):
        library.import_from(source)
    with opened() as library:
        assert library.search("Rule", mode="lexical").hits == ()
        done = library.import_from(source)
        assert (done.added, done.chunks) == (1, 40)
        (document,) = library.documents()
        assert document.status == "ready" and library.text(document.id) == "\n\n".join(pages["a.pdf"])
        assert library.verify().ok


def test_a_later_reindex_cuts_the_text_anew(library: Library, tmp_path: Path) -> None:
    library.import_from(json_file(tmp_path, with_vectors(records())))
    texts = {document.id: library.text(document.id) for document in library.documents()}
    library.reindex(chunker="sentence")
    for document in library.documents():
        assert library.text(document.id) == texts[document.id]
        assert all(texts[document.id][c.start : c.end] == c.text for c in library.chunks(document.id))
    assert library.search("paid leave").hits[0].pages == (1, 3)
    assert library.verify().ok
    assert library.import_from(json_file(tmp_path, records())).added == 0


def test_every_tenant_has_its_own(opened: Opened, tmp_path: Path) -> None:
    with opened(user="ann") as ann, opened(user="ben") as ben:
        ann.import_from(json_file(tmp_path, records()))
        assert ben.documents() == [] and ben.import_from(json_file(tmp_path, records())).added == 2
        assert {d.id for d in ann.documents()} & {d.id for d in ben.documents()} == set()


def test_metadata_comes_through_as_it_was(library: Library, tmp_path: Path) -> None:
    said = {"list": [1, "a", None, True], "json": "[1, 2]", "deep": {"x": {"y": 1.5}}, "no": None, "collection": "mine"}
    library.import_from(json_file(tmp_path, [{"text": "One.", "metadata": said}]))
    (document,) = library.documents()
    assert {name: document.metadata[name] for name in said} == said and document.collection == "default"


def test_grouping_by_a_field(library: Library, tmp_path: Path) -> None:
    given = [{"text": f"Letter {n}.", "metadata": {"source": "archive", "case": n % 2}} for n in range(4)]
    assert library.import_from(json_file(tmp_path, given), group_by="case", collection="cases").added == 2
    assert library.import_from(json_file(tmp_path, given), group_by="-", collection="letters").added == 4
    with pytest.raises(OptionError, match="source, case"):
        library.import_from(json_file(tmp_path, given), group_by="kase")


def test_another_embedder_than_the_librarys_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("One.", filename="a.txt")
    with quick_library(tmp_path / "library", embedder="hashing:32") as library, pytest.raises(DimensionMismatch):
        library.import_from("json:/does/not/exist.json")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    source = json_file(tmp_path, [*with_vectors(records()), {"picture": "cat.png"}])
    done = run("import", "--from", source, "--collection", "old")
    assert done.exit_code == 0, done.output
    assert "added 2 documents (5 chunks, of 6 records read), 0 were there already" in done.output
    assert "vectors: 5 imported" in done.output and "1 record left out: there is no text" in done.output
    shown = json.loads(run("import", "--from", source, "--collection", "old", "--json").stdout)
    assert (shown["added"], shown["skipped"], shown["left_out"][0]["count"]) == (0, 2, 1)
    assert shown["vectors"] == {"taken_over": 0, "embedded": 0, "known": 0, "reasons": []}
    assert run("import").exit_code == run("import", "a.jsonl", "--from", source).exit_code == 2
    assert "--model needs --from" in run("import", "a.jsonl", "--model", "x").output
    wrong = run("import", "--from", source, "--text-field", "story", "--json")
    assert wrong.exit_code == 1 and json.loads(wrong.stdout)["error"]["code"] == "import_invalid"
