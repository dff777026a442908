from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.chunk.passages import PassagesChunker
from footnotes.parse.outline import Outline
from footnotes.parse.text import text_blocks
from footnotes.types import Part

SENTENCES = [f"Sentence number {number} says a little about matter {number % 7}." for number in range(60)]


def part_of(text: str, start: int = 0) -> Part:
    return Part(start, text, tuple(text_blocks(text, start, Outline())))


def test_a_short_document_is_one_chunk() -> None:
    text = "\n  # Title\n\nOne paragraph.\n\nAnother.\n"
    [piece] = PassagesChunker().split(part_of(text))
    assert text[piece.start : piece.end] == text.strip()
    assert piece.parts == ()


def test_a_short_document_with_sections_is_cut_at_them() -> None:
    text = "# Title\n\n" + "".join(f"## Section {name}\n\n{' '.join(SENTENCES[:5])}\n\n" for name in "abc")
    pieces = PassagesChunker().split(part_of(text))
    assert [text[piece.start :].split("\n")[0] for piece in pieces] == ["# Title", "## Section b", "## Section c"]


def test_a_short_last_part_of_a_long_document_is_not_taken_for_a_document() -> None:
    text = " ".join(SENTENCES[:20])
    assert len(PassagesChunker().split(part_of(text, start=300_000))) > 1


def test_chunks_are_two_neighbouring_strips_that_overlap_by_one() -> None:
    text = " ".join(SENTENCES)
    pieces = PassagesChunker().split(part_of(text))
    for piece in pieces:
        (first, second) = piece.parts
        assert (piece.start, piece.end) == (first[0], second[1])
        assert 200 <= first[1] - first[0] <= 460
        assert text[first[0] : first[1]].endswith(".")
    for one, other in pairwise(pieces):
        assert one.parts[1] == other.parts[0]


def test_strips_end_with_paragraphs_where_they_can() -> None:
    paragraph = " ".join(SENTENCES[:5])
    text = "\n\n".join([paragraph] * 12)
    pieces = PassagesChunker().split(part_of(text))
    assert {text[start:end] for piece in pieces for start, end in piece.parts} == {paragraph}


def test_no_chunk_crosses_into_another_section() -> None:
    body = " ".join(SENTENCES[:20])
    text = f"# First\n\n{body}\n\n# Second\n\n{body}"
    border = text.index("# Second")
    pieces = PassagesChunker(whole=0).split(part_of(text))
    assert all(piece.end <= border or piece.start >= border for piece in pieces)
    assert any(piece.start == border for piece in pieces)


def test_a_long_sentence_is_cut_between_words_into_equal_pieces() -> None:
    text = " ".join(["word"] * 1000)
    sizes = [end - start for piece in PassagesChunker().split(part_of(text)) for start, end in piece.parts]
    assert max(sizes) - min(sizes) <= 10
    assert all(size % 5 == 4 for size in sizes)


def test_east_asian_characters_count_three() -> None:
    text = "これは文章です。" * 120
    [first, *_] = PassagesChunker().split(part_of(text))
    assert 80 <= first.parts[0][1] - first.parts[0][0] <= 130


@pytest.mark.parametrize("text", ["x" * 5000, "日" * 5000, "a\n" * 3000, "#\n" * 3000])
def test_strange_texts_keep_every_character(text: str) -> None:
    pieces = PassagesChunker().split(part_of(text))
    covered = {at for piece in pieces for at in range(piece.start, piece.end)}
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())


@given(st.lists(st.sampled_from([*SENTENCES, "\n\n", "\n\n# Heading\n\n"]), min_size=1, max_size=80).map(" ".join))
def test_parts_are_in_order_and_inside_their_piece(text: str) -> None:
    for piece in PassagesChunker(whole=0).split(part_of(text)):
        inside = [offset for part in piece.parts for offset in part]
        assert inside == sorted(inside)
        assert not piece.parts or (inside[0], inside[-1]) == (piece.start, piece.end)
