from __future__ import annotations

import pytest

from footnotes.embed.local import LocalEmbedder
from footnotes.embed.make import make_embedder
from footnotes.errors import UnknownPlugin
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder


def test_the_default_is_the_local_model() -> None:
    embedder = make_embedder(Settings())
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.name == Settings().embedder


def test_the_model_part_of_the_name_is_handed_on() -> None:
    embedder = make_embedder(Settings(embedder="hashing:32"))
    assert isinstance(embedder, HashingEmbedder)
    assert embedder.dimensions == 32


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownPlugin, match="no embedder named 'nowhere'"):
        make_embedder(Settings(embedder="nowhere:x"))


def test_hashing_vectors_of_texts_that_share_words_are_near() -> None:
    first, second, third = HashingEmbedder().embed(["the cat sat", "a cat sat", "dogs run far"], role="passage")
    assert first @ second > 0.5 > first @ third
