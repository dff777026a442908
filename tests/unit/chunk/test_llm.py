"""The chunker that asks a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from footnotes.chunk import make_chunker
from footnotes.chunk.llm import LlmChunker, checked_starts
from footnotes.errors import OptionError, ProviderUnavailable
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Part, Piece

TEXT = "Cats purr. Cats sleep a lot. Boats float. Boats have sails. Bread is baked. Bread needs flour.\n"
PART = Part(100, TEXT, ())


def embed(texts: Sequence[str]) -> np.ndarray:
    return HashingEmbedder().embed(texts, role="passage")


class FolderMemory:
    """Remembers in files, so that a test can look at them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> str | None:
        return (self._folder / key).read_text() if (self._folder / key).exists() else None

    def put(self, key: str, value: str) -> None:
        (self._folder / key).write_text(value)


class Model:
    """Says what stands in the test, and counts how often it was asked."""

    def __init__(self, said: str | Exception) -> None:
        self.said, self.asked = said, list[str]()

    def __call__(self, system: str, user: str) -> str:
        self.asked.append(user)
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def cut(model: Model, folder: Path, **options: int) -> tuple[list[str], list[Piece]]:
    chunker = LlmChunker(embed=embed, say=model, memory=FolderMemory(folder), model="test", **options)
    pieces = chunker.split(PART)
    return [TEXT[piece.start - 100 : piece.end - 100] for piece in pieces], pieces


def test_the_models_boundaries_are_kept_and_remembered(tmp_path: Path) -> None:
    model = Model("Passages begin at 3 and 5.")
    expected = ["Cats purr. Cats sleep a lot.", "Boats float. Boats have sails.", "Bread is baked. Bread needs flour."]
    assert cut(model, tmp_path)[0] == expected
    assert model.asked[0].startswith("1. Cats purr.\n2. Cats sleep a lot.")
    again = Model("1")
    assert cut(again, tmp_path)[0] == expected and again.asked == []
    assert [file.read_text() for file in tmp_path.iterdir()] == ["3,5"]


@pytest.mark.parametrize("said", ["none", "99", "5, 3", "3, 3", "0", ProviderUnavailable("it is down")])
def test_an_answer_that_cannot_be_used_falls_back_with_its_reason(tmp_path: Path, said: str | Exception) -> None:
    texts, pieces = cut(Model(said), tmp_path)
    assert "".join("".join(texts).split()) == "".join(TEXT.split())
    for piece in pieces:
        assert piece.metadata["chunker"] == "semantic" and piece.metadata["chunker_reason"]


def test_a_failure_of_the_model_is_not_remembered(tmp_path: Path) -> None:
    cut(Model(ProviderUnavailable("it is down")), tmp_path)
    assert len(cut(Model("3"), tmp_path)[0]) == 2


def test_long_texts_are_read_in_windows(tmp_path: Path) -> None:
    long = " ".join(f"Sentence number {n} speaks about something." for n in range(100))
    model = Model("1")
    chunker = LlmChunker(embed=embed, say=model, memory=FolderMemory(tmp_path), window=1_000)
    pieces = chunker.split(Part(0, long, ()))
    assert len(model.asked) > 3 and all(len(asked) < 1_500 for asked in model.asked)
    assert "".join(long[piece.start : piece.end] for piece in pieces).replace(" ", "") == long.replace(" ", "")


def test_places_are_checked_against_the_text() -> None:
    assert checked_starts("1,4", 5) == [0, 3]
    assert checked_starts("4", 5) == [0, 3]
    with pytest.raises(ValueError, match="not there"):
        checked_starts("6", 5)


def test_without_a_model_it_says_so() -> None:
    with pytest.raises(OptionError, match="needs a chat model"):
        make_chunker("llm", {}, embed=embed, memory=FolderMemory(Path("x")))
