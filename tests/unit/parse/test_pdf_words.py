"""Characters as pdfium counts them."""

from __future__ import annotations

from footnotes.parse.pdf_words import _FILLER, _characters


def test_pairs_of_surrogates_are_the_character_they_stand_for() -> None:
    codes = [ord("a"), 0xD83D, 0xDE42, ord("b")]
    assert list(_characters(codes)) == ["a", "🙂", _FILLER, "b"]


def test_what_is_half_a_pair_or_no_character_is_replaced() -> None:
    assert list(_characters([0xD83D, ord("a")])) == ["\ufffd", "a"]
    assert list(_characters([0xDE42, 0xD83D])) == ["\ufffd", "\ufffd"]
    assert list(_characters([0x110000, 0xFFFFFFFF])) == ["\ufffd", "\ufffd"]
