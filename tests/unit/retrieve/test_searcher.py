"""A search as a caller asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import NotFound
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder


def test_a_question_that_is_asked_again_is_not_embedded_again(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with Library(tmp_path / "library", settings=Settings(), embedder=embedder) as library:
        library.add_text("Hotels cost 90 euros a night.", filename="travel.txt")
        first = library.search("What do hotels cost?")
        asked = embedder.texts
        again = library.search("What do hotels cost?", limit=3)
        assert embedder.texts == asked and [hit.scores.dense for hit in again.hits] == [
            hit.scores.dense for hit in first.hits
        ]
        library.search("What does a train cost?")
        assert embedder.texts == asked + 1


def test_another_model_embeds_the_question_anew(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=Settings(), embedder=HashingEmbedder()) as library:
        library.add_text("Hotels cost 90 euros a night.", filename="travel.txt")
        library.search("hotels")
        library.reindex(embedder="hashing:32")
        assert library.search("hotels").legs["dense"].status == "ok"


def test_a_collection_that_does_not_exist_is_an_error_and_an_empty_one_gives_nothing(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=Settings(), embedder=HashingEmbedder()) as library:
        library.add_text("Hotels cost 90 euros a night.", filename="travel.txt", collection="travel")
        library.set_collection("trains", system_prompt="Be brief.")
        assert library.search("hotels", collection="trains").hits == ()
        for call in (library.search, library.ask):
            with pytest.raises(NotFound, match="no collection 'travle'; did you mean 'travel'"):
                call("What do hotels cost?", collection="travle")
