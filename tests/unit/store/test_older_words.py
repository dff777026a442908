"""An index that an older version wrote is rebuilt from the stored text by whoever opens it, and nothing is embedded."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.index import lexical, manifest
from footnotes.library import Library
from footnotes.settings import load
from footnotes.store import lexemes
from footnotes.testing.embedder import HashingEmbedder
from libraries import HANDBOOK, TRAVEL


def opened(folder: Path, embedder: HashingEmbedder) -> Library:
    return Library(folder, settings=load(folder, embedder="hashing"), embedder=embedder)


def filled(folder: Path) -> Path:
    with opened(folder, HashingEmbedder()) as library:
        library.add_text(HANDBOOK, filename="handbook.md")
        library.add_text(TRAVEL, filename="travel.txt")
    (found,) = folder.rglob("lexical/manifest.json")
    return found.parent


def test_an_index_of_an_older_format_is_rebuilt(tmp_path: Path) -> None:
    index = filled(tmp_path / "library")
    content = manifest.read(index)
    assert content is not None and content["format"] == lexical.FORMAT > 1
    manifest.write(index, content | {"format": lexical.FORMAT - 1})
    embedder = HashingEmbedder()
    with opened(tmp_path / "library", embedder) as library:
        assert [hit.filename for hit in library.search("probation", mode="lexical").hits] == ["handbook.md"]
        assert embedder.calls == 0
        assert library.search("probation").hits[0].filename == "handbook.md"
        assert embedder.texts == 1  # the question
    again = manifest.read(index)
    assert again is not None and again["format"] == lexical.FORMAT


def test_words_that_were_made_otherwise_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(tmp_path / "library")
    before = manifest.read(index)
    monkeypatch.setattr(lexemes, "VERSION", lexemes.VERSION + 1)
    embedder = HashingEmbedder()
    with opened(tmp_path / "library", embedder) as library:
        assert library.search("probation", mode="lexical").hits and embedder.calls == 0
    after = manifest.read(index)
    assert before is not None and after is not None and before["identity"] != after["identity"]
