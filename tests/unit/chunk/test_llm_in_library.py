"""The chunker that asks a model, in a library."""

from __future__ import annotations

from pathlib import Path

import provider as fake
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder
from postgres import PostgresServer
from provider import ScriptedProvider

TEXT = "Cats purr. Cats sleep a lot. Boats float. Boats have sails. Bread is baked. Bread needs flour.\n"


def test_in_a_library(tmp_path: Path) -> None:
    with ScriptedProvider(fake.says("3, 5")) as provider:
        settings = Settings(chunker="llm", model="openai:test", openai_base_url=provider.base_url)
        with Library(tmp_path / "library", settings=settings, embedder=HashingEmbedder()) as library:
            added = library.add_text(TEXT, filename="a.txt")
            assert added.status == "ready" and added.chunks == 3
            library.delete(str(added.document_id))
            assert library.add_text(TEXT, filename="b.txt").chunks == 3
        assert len(provider.requests) == 1


def test_the_model_of_the_options_is_asked_and_not_that_of_the_settings(tmp_path: Path) -> None:
    with ScriptedProvider(fake.says("3, 5")) as provider:
        settings = Settings(model="openai:answers", openai_base_url=provider.base_url)
        with Library(tmp_path / "library", settings=settings, embedder=HashingEmbedder()) as library:
            library.set_collection("default", chunker="llm", chunker_options={"model": "openai:cuts"})
            assert library.add_text(TEXT, filename="a.txt").chunks == 3
        assert [asked.body["model"] for asked in provider.requests] == ["cuts"]


def test_another_machine_of_the_same_database_asks_nothing_again(tmp_path: Path, postgres: PostgresServer) -> None:
    store = postgres.fresh()
    with ScriptedProvider(fake.says("3, 5")) as provider:
        for machine in ("first", "second"):
            settings = Settings(chunker="llm", model="openai:test", openai_base_url=provider.base_url, store=store)
            with Library(tmp_path / machine, settings=settings, embedder=HashingEmbedder()) as library:
                assert library.add_text(TEXT, filename="a.txt", collection=machine).chunks == 3
        assert len(provider.requests) == 1
