"""Quotes of other people's texts, found by a fingerprint of their words."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from footnotes.testing.pages import fingerprint, kept_library, page_questions, page_texts, places_of

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


def test_questions_about_pages_know_every_place_of_their_quotes(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "keys.md").write_text(TEXT)
    asked = {"question": "what does a key cost", "kind": "numeric", "page": "keys.md"}
    gone = {"question": "who sells keys", "kind": "notthere", "page": None, "evidence": []}
    lines = [json.dumps({**asked, "evidence": [fingerprint("five euros")]}), json.dumps(gone)]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    with kept_library(tmp_path / "library", tmp_path / "pages") as library:
        texts = page_texts(library)
        one, other = page_questions(tmp_path, texts)
    (((start, end),),) = one.places
    assert texts[one.page][start:end] == "five euros"
    assert (other.page, other.places) == ("", ())
    with kept_library(tmp_path / "library", tmp_path / "nowhere") as library:
        assert [document.filename for document in library.documents()] == ["keys.md"]
