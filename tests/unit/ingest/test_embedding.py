"""What the embedder is asked for: every piece once, and hardly any padding."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from footnotes import Library
from footnotes.embed import Matrix
from footnotes.embed.local import LocalEmbedder
from footnotes.ingest import embedding
from footnotes.types import Role
from libraries import words


class CountingEmbedder:
    """Remembers every text it was given."""

    name, fingerprint, dimensions, max_tokens = "test:counting", "counting-1", 8, 0

    def __init__(self) -> None:
        self.given: list[str] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        self.given += texts
        return np.array([np.random.default_rng(len(text)).random(8) + 0.1 for text in texts], dtype=np.float32)


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_no_piece_is_embedded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(embedding, "KEPT_EVERY_SECONDS", seconds)
    monkeypatch.setattr(embedding, "EMBEDDED_TOGETHER", 16)
    embedder = CountingEmbedder()
    text = "\n\n".join(f"Paragraph {number} says this. {words(number)}" for number in range(200))
    with Library(tmp_path / "library", embedder=embedder) as library:
        (added,) = library.add_texts([text], filenames=["long.txt"])
        assert added.chunks > 64
        assert not library.verify().problems
    assert len(embedder.given) == len(set(embedder.given)) > 64


class EmptyModel:
    """A session that counts what it is given to read, and gives the same for all of it."""

    def __init__(self) -> None:
        self.read = self.padding = 0

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("input_ids", "attention_mask", "token_type_ids")]

    def run(self, _: None, inputs: dict[str, Any]) -> list[Matrix]:
        mask = inputs["attention_mask"]
        self.read += mask.size
        self.padding += int(mask.size - mask.sum())
        return [np.ones((*mask.shape, 384), dtype=np.float32)]


def test_what_the_model_reads_is_hardly_more_than_the_text(tmp_path: Path) -> None:
    embedder, model, chance = LocalEmbedder(), EmptyModel(), random.Random(3)
    embedder.__dict__["_shipped"] = model
    vocabulary = words(1).split()
    texts = [" ".join(chance.choices(vocabulary, k=chance.randint(5, 180))) for _ in range(1_200)]
    with Library(tmp_path / "library", embedder=embedder) as library:
        library.add_texts(texts)
    assert model.read > 50_000
    assert model.padding <= 0.02 * (model.read - model.padding)
