"""A search sees one snapshot: the old version of a document or the new one, always one of them, never both."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from qdrant import QdrantServer
from snapshots import Tally, open_library, replace, run, text

SEARCHES = int(os.environ.get("FOOTNOTES_SNAPSHOT_SEARCHES", "600"))
_NUMBERS = itertools.count(1)


@pytest.fixture(params=["folder", "folder and qdrant", "folder and chroma"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "folder and qdrant":
        server: QdrantServer = request.getfixturevalue("qdrant_server")
        return {"index": f"{server.address}/snapshot{next(_NUMBERS)}", "index_api_key": server.api_key}
    if request.param == "folder and chroma":
        pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
        return {"index": f"chroma:{tmp_path / 'chroma'}"}
    return {}


def check(tally: Tally) -> None:
    assert tally.wrong == 0, tally
    assert tally.versions > 2, f"hardly anything was replaced meanwhile: {tally}"


def test_while_a_document_is_replaced(tmp_path: Path, settings: dict[str, Any]) -> None:
    check(run(tmp_path / "library", settings, SEARCHES, replace))


def test_while_a_library_is_indexed_anew_and_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    def write(library: Library, step: int) -> None:
        replace(library, step)
        library.reindex(keep=True)
        library.rollback()

    check(run(tmp_path / "library", settings, SEARCHES, write))


def test_while_a_file_is_renamed(tmp_path: Path) -> None:
    """A file that moves is found under one of its names, and its text is whole."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "name0.txt").write_text(text(1))

    def write(library: Library, step: int) -> None:
        (folder / f"name{step - 1}.txt").rename(folder / f"name{step}.txt")
        library.sync(folder)

    with open_library(tmp_path / "library", {}) as library:
        library.sync(folder)
        document = library.documents()[0].id
        for step in range(1, 40):
            write(library, step)
            found = library.search(
                "kestrel", mode="lexical", where={"filename": f"name{step}.txt"}, limit=50, per_document=1
            )
            assert [hit.document_id for hit in found.hits] == [document]
