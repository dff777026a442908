"""What every chunk says of its place, wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path

from footnotes.library import Library
from footnotes.wire import to_json
from libraries import quick_library

PROSE = "The notice period is three months, and it is given in writing to the head of the department. "
GUIDE = f"""---
title: The guide
author: Ann
date: 2024-05-06
---
# One

{PROSE * 8}

## Two

{PROSE * 8}
"""


def guide(folder: Path) -> Library:
    library = quick_library(folder, chunker="rules", chunker_options={"tokens": 64, "overlap": 10})
    library.add_text(GUIDE, filename="guide.md")
    return library


def test_lines_position_and_language_are_the_same_everywhere(tmp_path: Path) -> None:
    with guide(tmp_path / "library") as library:
        (document,) = library.documents()
        assert document.title == "The guide" and document.metadata["language"] == "en"
        text = library.text(document.id)
        chunks = library.chunks(document.id)
        assert len(chunks) > 3
        for number, chunk in enumerate(chunks):
            first, last = chunk.lines or (0, 0)
            assert first == text[: chunk.start].count("\n") + 1 and last == text[: chunk.end].count("\n") + 1
            assert (chunk.index, chunk.total) == (number, len(chunks))
            assert to_json(chunk)["language"] in ("en", "yaml")
        hits = library.search("notice period", per_document=10).hits
        by_id = {chunk.id: chunk for chunk in chunks}
        for hit in hits:
            same = by_id[hit.chunk_id]
            assert (hit.lines, hit.total, hit.index) == (same.lines, same.total, same.index)
            shape = to_json(hit)
            assert shape["lines"] == list(same.lines or ()) and shape["language"] in ("en", "yaml")
            assert shape["metadata"]["author"] == "Ann" and shape["metadata"]["created"] == "2024-05-06"
        library.export(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    exported = [line for line in lines if line["type"] == "chunk"]
    assert [tuple(line["lines"]) for line in exported] == [chunk.lines for chunk in chunks]
    assert {line["language"] for line in exported} <= {"en", "yaml"}


def test_filters_reach_language_author_dates_and_lines(tmp_path: Path) -> None:
    with guide(tmp_path / "library") as library:
        library.add_text(PROSE * 3, filename="plain.txt")
        found = {}
        for where in (
            "language=en",
            "language=de",
            "author=Ann",
            "created>=2024",
            "created<2024",
            "created>2024-05-05",
        ):
            found[where] = sorted(document.filename for document in library.documents(where=where))
        assert found == {
            "language=en": ["guide.md", "plain.txt"],
            "language=de": [],
            "author=Ann": ["guide.md"],
            "created>=2024": ["guide.md"],
            "created<2024": [],
            "created>2024-05-05": ["guide.md"],
        }
        hits = library.search("notice period", where=["line>=10", "filename=guide.md"], per_document=10).hits
        assert hits and all(hit.lines and hit.lines[1] >= 10 for hit in hits)
        (line,) = {hit.lines for hit in hits[:1]}
        assert library.search("notice", where=f"line={line[0] if line else 0}").hits


def test_lines_go_on_from_part_to_part(tmp_path: Path) -> None:
    text = "\n\n".join(PROSE * 3 for _ in range(1200))
    with quick_library(tmp_path / "library", chunker="rules") as library:
        added = library.add_text(text, filename="long.txt")
        assert added.document_id
        last = library.chunks(added.document_id)[-1]
        assert last.lines and last.lines[1] == text[: last.end].count("\n") + 1
        assert sum(1 for _ in library._store.documents.parts("local", added.document_id)) > 1
