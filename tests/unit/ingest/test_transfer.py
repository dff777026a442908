from __future__ import annotations

import json
from pathlib import Path

import pytest

from footnotes.errors import DimensionMismatch, ImportFormatError, SourceUnreadable
from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from libraries import HANDBOOK, TRAVEL, quick_library

HEADER = '{"type": "footnotes-export", "version": 1}\n'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json\n",
        '{"type": "something else"}\n',
        '{"type": "footnotes-export", "version": 99}\n',
        HEADER + '{"no": "type"}\n',
        HEADER + '{"type": "document"}\n',
        HEADER + "[1, 2]\n",
        HEADER + "[" * 100_000 + "\n",
    ],
    ids=range(8),
)
def test_what_is_not_an_export_is_refused_and_leaves_nothing(library: Library, tmp_path: Path, content: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(content)
    with pytest.raises(ImportFormatError):
        library.import_(file)
    assert library.documents() == []


def test_a_damaged_line_at_the_end_is_found_before_anything_is_taken_in(filled: Library, tmp_path: Path) -> None:
    filled.export(tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    documents = [number for number, line in enumerate(lines) if '"type": "document"' in line]
    broken = json.loads(lines[documents[-1]])
    broken["parts"][0]["end"] += 5
    lines[documents[-1]] = json.dumps(broken)
    (tmp_path / "broken.jsonl").write_text("\n".join(lines) + "\n")
    with quick_library(tmp_path / "other") as other:
        with pytest.raises(ImportFormatError, match=f"line {documents[-1] + 1}"):
            other.import_(tmp_path / "broken.jsonl")
        assert other.documents() == []


def test_a_file_that_is_not_there(library: Library, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        library.import_(tmp_path / "none.jsonl")


def test_an_export_is_lines_of_documents_and_their_chunks(filled: Library, tmp_path: Path) -> None:
    filled.export(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines[0]["type"] == "footnotes-export"
    texts = {line["id"]: line["text"] for line in lines if line["type"] == "document"}
    for line in lines:
        if line["type"] == "chunk":
            assert texts[line["document_id"]][line["start"] : line["end"]] == line["text"]


def test_one_collection_can_be_exported_and_imported_under_another_name(library: Library, tmp_path: Path) -> None:
    library.add_text("Apples are red.", filename="a.txt", collection="fruit")
    library.add_text("Carrots are orange.", filename="c.txt", collection="roots")
    assert library.export(tmp_path / "fruit.jsonl", collection="fruit")["documents"] == 1
    assert library.import_(tmp_path / "fruit.jsonl", collection="copy").added == 1
    assert sorted(document.collection for document in library.documents()) == ["copy", "fruit", "roots"]


@pytest.mark.parametrize(
    "other",
    [HashingEmbedder(max_tokens=128), HashingEmbedder(dimensions=32)],
    ids=["of the same dimensions", "of other dimensions"],
)
def test_an_import_with_another_embedder_is_refused_and_harms_nothing(tmp_path: Path, other: HashingEmbedder) -> None:
    with Library(tmp_path / "source", embedder=other) as source:
        source.add_text(HANDBOOK, filename="handbook.md")
        source.export(tmp_path / "out.jsonl")
    with quick_library(tmp_path / "target") as target:
        target.add_text(TRAVEL, filename="travel.md")
    with Library(tmp_path / "target", embedder=other) as target:
        with pytest.raises(DimensionMismatch, match=r"the library's vectors are from hashing:64 \(64 dimensions\)"):
            target.import_(tmp_path / "out.jsonl")
        assert [document.filename for document in target.documents()] == ["travel.md"]
    with quick_library(tmp_path / "target") as target:
        assert target.import_(tmp_path / "out.jsonl").added == 1
        assert target.search("days of paid leave").hits[0].filename == "handbook.md"
        assert target.verify(repair=True).problems == []
