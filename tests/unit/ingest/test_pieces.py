from __future__ import annotations

import numpy as np
import pytest

from footnotes.chunk.assemble import AssembledChunk
from footnotes.embed.local import LocalEmbedder
from footnotes.ingest.pieces import embedding_pieces, equal_spans, mean_vector, mean_vectors, pieces_to_embed
from footnotes.text.tokens import count_tokens

TEXT = " ".join(f"Sentence number {number} is here." for number in range(100))


def chunk(
    text: str, *, parts: tuple[tuple[int, int], ...] = (), headings: tuple[str, ...] = ("Guide",)
) -> AssembledChunk:
    return AssembledChunk(100, 100 + len(text), None, headings, count_tokens(text), "[Document: Guide]", {}, parts)


def test_a_text_that_fits_is_one_piece_with_its_prefix() -> None:
    assert embedding_pieces(chunk("Some text."), "Some text.", max_tokens=256) == ("[Document: Guide]\nSome text.",)


def test_a_long_text_is_cut_so_that_the_model_reads_all_of_it() -> None:
    pieces = embedding_pieces(chunk(TEXT), TEXT, max_tokens=256)
    assert len(pieces) > 2
    assert all(1.25 * count_tokens(piece) <= 256 + 20 for piece in pieces)
    assert all(piece.startswith("[Document: Guide]\nSentence") and piece.endswith("here.") for piece in pieces)
    assert sum(piece.count("Sentence") for piece in pieces) == 100


def test_a_model_without_a_limit_reads_it_at_once() -> None:
    assert len(embedding_pieces(chunk(TEXT), TEXT, max_tokens=0)) == 1


@pytest.mark.parametrize(
    "text", [" ".join(f"word{n}" for n in range(400)), "0x" + "9f86d081884c7d65" * 60, "零一二三四五六七八九" * 50]
)
def test_no_piece_is_longer_than_the_model_reads_whatever_the_text(text: str) -> None:
    """Without an end of a sentence, and with words that the model's vocabulary takes to pieces."""
    embedder = LocalEmbedder()
    pieces = pieces_to_embed(chunk(text), text, embedder)
    assert all(embedder.count_tokens(piece) <= embedder.max_tokens for piece in pieces)
    assert "".join(piece.removeprefix("[Document: Guide]\n") for piece in pieces).replace(" ", "") == text.replace(
        " ", ""
    )


def test_the_parts_of_the_chunker_are_kept() -> None:
    made = chunk("First. Second.", parts=((100, 106), (107, 114)))
    assert embedding_pieces(made, "First. Second.", max_tokens=256) == (
        "[Document: Guide]\nFirst.",
        "[Document: Guide]\nSecond.",
    )


def test_a_piece_that_begins_with_its_headings_is_not_told_them_again() -> None:
    text = "# Guide\n\nText."
    assert embedding_pieces(chunk(text), text, max_tokens=256) == (text,)


def test_the_name_of_a_file_is_not_embedded() -> None:
    assert embedding_pieces(chunk("Text.", headings=()), "Text.", max_tokens=256) == ("Text.",)


def test_equal_spans_are_whole_sentences_of_about_the_same_size() -> None:
    spans = equal_spans(TEXT, 4)
    sizes = [count_tokens(TEXT[start:end]) for start, end in spans]
    assert len(spans) == 4
    assert max(sizes) - min(sizes) < 20
    assert equal_spans("one sentence only", 3) == [(0, 17)]
    assert equal_spans("   ", 2) == [(0, 3)]


def test_the_mean_is_a_unit_vector() -> None:
    found = mean_vector(np.array([[1, 0], [0, 1]], dtype=np.float32))
    assert found == pytest.approx([0.5**0.5, 0.5**0.5])
    opposite = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    assert mean_vector(opposite) == pytest.approx([1, 0])


def test_means_made_together_are_those_made_one_by_one() -> None:
    vectors = np.random.default_rng(3).standard_normal((40, 2, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    vectors[7, 1] = -vectors[7, 0]
    together = mean_vectors(vectors)
    assert together.dtype == np.float32
    assert together.tolist() == [mean_vector(pair).tolist() for pair in vectors]
