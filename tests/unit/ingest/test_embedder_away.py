"""A chunker that asks the embedder, while the embedder is away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from footnotes.errors import ProviderUnavailable
from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Role

pytestmark = pytest.mark.slow

TEXT = (
    "# Cats\n\n"
    + " ".join(f"The cat number {n} sleeps near the wall." for n in range(30))
    + ("\n\n# Taxes\n\n" + " ".join(f"The tax number {n} is paid in spring." for n in range(30)))
)


class AwayEmbedder(HashingEmbedder):
    """Answers only while it is there."""

    is_away = False

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        if self.is_away:
            raise ProviderUnavailable("the embedder does not answer")
        return super().embed(texts, role=role)


def test_a_document_is_found_by_words_and_cut_again_when_the_embedder_is_back(tmp_path: Path) -> None:
    embedder = AwayEmbedder()
    with Library(tmp_path / "library", embedder=embedder) as library:
        library.set_collection("default", chunker="semantic")
        embedder.is_away = True
        (tmp_path / "text.md").write_text(TEXT)
        (added,) = library.add(tmp_path / "text.md")
        assert added.error is not None and added.error.code == "provider_unavailable", "its vectors are missing"
        assert any("cut by rules" in warning for warning in added.warnings)
        assert library.search("tax", mode="lexical").hits
        assert [document.status for document in library.documents()] == ["queued"]
        embedder.is_away = False
        library.resume()
        (document,) = library.documents()
        assert document.status == "ready" and library.outdated() == []
        assert all("# Cats" not in chunk.text or "# Taxes" not in chunk.text for chunk in library.chunks(document.id))
        assert library.verify().ok


class UnknownEmbedder(HashingEmbedder):
    """Cannot say which vectors it makes: its server is away."""

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        raise ProviderUnavailable("the embedder does not answer")


def test_a_library_without_vectors_tells_its_state_while_the_embedder_is_away(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "text.md").write_text(TEXT)
    with Library(tmp_path / "library", embedder=UnknownEmbedder()) as library:
        assert library.status()
        assert library.outdated() == [] and library.count_outdated() == 0
        assert library.sync(tmp_path / "docs", dry_run=True).counts["added"] == 1
