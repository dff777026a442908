"""Quotes of other people's texts, found by a fingerprint of their words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from footnotes.testing.quotes import fingerprint, places_of

TEXT = "Keys are free.\n\nA *second key* costs five euros; a second\nkey is lost soon."


def test_a_quote_is_found_wherever_its_words_stand() -> None:
    places = places_of(TEXT, fingerprint("a second key"))
    assert [TEXT[start:end] for start, end in places] == ["A *second key", "a second\nkey"]


def test_other_words_are_not_found() -> None:
    assert places_of(TEXT, fingerprint("a third key")) == []
    assert places_of(TEXT, fingerprint("")) == []
    assert places_of("", fingerprint("a key")) == []


def test_a_fingerprint_holds_no_word_of_the_quote() -> None:
    assert fingerprint("A second key") == fingerprint("a second, KEY")
    assert "key" not in fingerprint("a second key")


@given(words=st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=30), data=st.data())
def test_every_run_of_words_is_found(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    text, quote = " ".join(words), " ".join(words[first:last])
    assert (start := len(" ".join((*words[:first], "")))) in [place[0] for place in places_of(text, fingerprint(quote))]
    assert text[start:].startswith(quote)
