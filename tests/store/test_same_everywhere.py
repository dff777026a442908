"""What goes into both stores comes out of both alike: ids, texts, chunks, sets under filters, order of hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from footnotes.library import Library
from footnotes.types import Chunk

QUESTIONS = [
    "paid leave",
    "train",
    "hotels and flights",
    "日本語",
    "marker7 word31",
    "déjà vu",
    "NUL bytes",
    "nothing here",
]


def timeless(chunks: list[Chunk]) -> list[Chunk]:
    """Chunks without the time at which their document came into a store."""
    return [replace(chunk, metadata={**chunk.metadata, "ingested_at": ""}) for chunk in chunks]


def test_documents_and_chunks_are_the_same(both: tuple[Library, Library]) -> None:
    embedded, shared = both
    ours = embedded.documents()
    assert [document.id for document in ours] == [document.id for document in shared.documents()]
    for document in ours:
        assert embedded.text(document.id) == shared.text(document.id)
        assert timeless(embedded.chunks(document.id)) == timeless(shared.chunks(document.id))
        other = shared.document(document.id)
        for name in ("filename", "file_hash", "mime", "title", "status", "bytes", "characters", "chunks", "version"):
            assert getattr(document, name) == getattr(other, name)
        assert len(document.created_at) == len(other.created_at)
    assert embedded.verify().ok and shared.verify().ok


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_words_find_the_same_in_the_same_order(both: tuple[Library, Library], question: str) -> None:
    found = []
    for library in both:
        hits = library.search(question, mode="lexical", limit=20, per_document=20).hits
        found.append([(hit.chunk_id, hit.scores.lexical) for hit in hits])
    assert {chunk for chunk, _ in found[0]} == {chunk for chunk, _ in found[1]}
    assert [chunk for chunk, _ in found[0][:1]] == [chunk for chunk, _ in found[1][:1]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_vectors_find_the_same_in_the_same_order(both: tuple[Library, Library], question: str) -> None:
    found = []
    for library in both:
        hits = library.search(question, mode="dense", limit=10).hits
        found.append([(hit.chunk_id, round(hit.scores.dense.score, 2)) for hit in hits if hit.scores.dense])
    assert [score for _, score in found[0]] == pytest.approx([score for _, score in found[1]], abs=0.011)
    assert found[0][0][0] == found[1][0][0]


@pytest.mark.parametrize(
    "where",
    ["number>3", "tags=all", "filename~*.t?t", "mime=text/markdown", {"name\x00": "va\x00lue"}, "heading=Holidays"],
)
def test_filters_let_the_same_through(both: tuple[Library, Library], where: Any) -> None:
    embedded, shared = both
    expected = [document.id for document in embedded.documents(where=where)]
    assert expected == [document.id for document in shared.documents(where=where)]
