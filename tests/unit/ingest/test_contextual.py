"""Contexts of chunks from a chat model: in the prefix only, asked for once, and said when they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from libraries import HANDBOOK, quick_library
from provider import Asked, ScriptedProvider, replies, status


def about(asked: Asked) -> str:
    """A model that is real enough: it names what the passage says, and so only this passage is found by it."""
    passage = asked.prompt.partition("\n\nTHE PASSAGE\n")[2]
    return '"Concerning the zeppelin rules of leave."\n' if "paid leave" in passage else "On ending a contract."


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(default=replies(about)) as fake:
        yield fake


def contextual(folder: Path, provider: ScriptedProvider, **settings: Any) -> Library:
    options = {"chunker": "section", "contextual": "openai:small", "openai_base_url": provider.base_url}
    return quick_library(folder, **{**options, "openai_api_key": "k", **settings})


def test_contexts_are_found_embedded_and_never_part_of_the_text(tmp_path: Path, provider: ScriptedProvider) -> None:
    with contextual(tmp_path / "library", provider) as library:
        added = library.add_text(HANDBOOK, filename="handbook.md")
        assert added.document_id and added.status == "ready" and not added.warnings
        chunks = library.chunks(added.document_id)
        assert len(provider.requests) == len(chunks) > 1
        text = library.text(added.document_id)
        for chunk in chunks:
            assert chunk.text == text[chunk.start : chunk.end] and "zeppelin" not in chunk.text
        assert sum("Concerning the zeppelin rules of leave." in chunk.prefix for chunk in chunks) == 1
        hit = library.search("zeppelin", mode="lexical").hits[0]
        assert "paid leave" in hit.text
        assert library.verify().ok


def test_the_same_document_again_costs_no_call(tmp_path: Path, provider: ScriptedProvider) -> None:
    with contextual(tmp_path / "library", provider) as library:
        first = library.add_text(HANDBOOK, filename="handbook.md")
        asked = len(provider.requests)
        assert library.add_text(HANDBOOK, filename="handbook.md").status == "deduplicated"
        before = [chunk.id for chunk in library.chunks(first.document_id or "")]
        library.reindex()
        assert len(provider.requests) == asked
        assert [chunk.id for chunk in library.chunks(first.document_id or "")] == before


def test_without_the_setting_nobody_is_asked(tmp_path: Path, provider: ScriptedProvider) -> None:
    with contextual(tmp_path / "library", provider, contextual="") as library:
        library.add_text(HANDBOOK, filename="handbook.md")
        assert provider.requests == []
    with contextual(tmp_path / "library", provider) as library:
        assert library.add_text(HANDBOOK, filename="handbook.md").status == "replaced"
        assert provider.requests


def test_a_model_that_fails_leaves_chunks_without_and_says_so(tmp_path: Path, provider: ScriptedProvider) -> None:
    provider.default = status(401)
    with contextual(tmp_path / "library", provider) as library:
        added = library.add_text(HANDBOOK, filename="handbook.md")
        assert added.status == "ready" and added.document_id
        (warning,) = added.warnings
        assert "no context from openai:small" in warning and "footnotes reindex" in warning
        assert len(provider.requests) <= 4  # not asked again for every chunk
        assert library.search("paid leave").hits
        provider.default = replies(about)
        library.reindex()
        assert library.search("zeppelin", mode="lexical").hits


def test_what_was_said_goes_with_the_document(tmp_path: Path, provider: ScriptedProvider) -> None:
    folder = tmp_path / "library"
    with contextual(folder, provider) as library:
        added = library.add_text(HANDBOOK, filename="handbook.md", source="a")
        assert len(library._store.memories("local").scopes()) == 1
        library.add_text(HANDBOOK + "\nMore of it.\n", filename="handbook.md", source="a")
        library.compact()
        assert len(library._store.memories("local").scopes()) == 1
        library.delete(added.document_id or "", compact=True)
        assert library._store.memories("local").scopes() == []
    assert not [path for path in folder.rglob("*") if path.is_file() and b"zeppelin" in path.read_bytes()]
