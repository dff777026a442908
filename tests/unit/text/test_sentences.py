from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith went to Washington, D.C. on Jan. 5.", "He paid $3.50 for it."],
        ['"Really?" he said.', '"Yes."', "She left (see fig. 3.) and so on."],
        ["The U.S. Army came.", "It left the U.S.", "The end."],
        ["J. R. R. Tolkien wrote it.", "Smith et al. (2003) read it."],
        ["See p. 5 and No. 7.", "Is it no?", "We go."],
        ["Am 3. Oktober 1990 war es z. B. in Berlin.", "Das kostet ca. 5 Euro.", "Dann ging er, usw.", "Er kam."],
        ["El Sr. García llegó.", "¿Qué pasó?", "¡Nada!", "Vive en EE.UU. desde 1990.", "La pág. 5 lo dice."],
        ["M. Dupont est arrivé.", "Mme. Durand aussi, etc.", "Il pleut…", "Elle est partie."],
        ["Wait... what is it?", "Well...", "Nothing."],
        ["(It was late.)", "[So they say.]", "“Quite.”", "Then he went."],
        ["Version 1.2.3 has 5.000 users.", "In 1990.", "Then more."],
        ["all in lower case here.", "nothing is capital there."],
    ],
)
def test_sentences_joined_by_a_space_come_apart_again(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


def test_wide_stops_need_no_space() -> None:
    assert sentences("今日は天気がいい。「本当ですか？」はい！") == ["今日は天気がいい。", "「本当ですか？」", "はい！"]


def test_paragraphs_list_items_and_short_lines_end_sentences() -> None:
    text = "A title\nBody text of it\n\nNew paragraph\n- item one\n- item two\n1. first\n2. second"
    assert sentences(text) == text.replace("\n\n", "\n").split("\n")


def test_a_wrapped_line_does_not_end_a_sentence() -> None:
    text = "This line is long enough to have been wrapped by an editor\nMonday was the day it happened."
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Use :meth:`~library.Item.move` to move\n:class:`~library.Item` objects elsewhere.",
        "Timeouts are set with\n{option}`--timeout` in seconds.",
        "- It is set with\n  :option:`--timeout` in seconds.",
    ],
)
def test_a_line_that_begins_with_a_role_goes_on(text: str) -> None:
    assert sentences(text) == [text]


def test_titles_terms_and_lists_of_roles_are_no_sentences_of_the_next_line() -> None:
    for lines in (
        ["# Moving", "{meth}`~Item.move` moves an item."],
        ["timeout", ":option:`--timeout` sets it."],
        [":ref:`index`", ":ref:`search`"],
    ):
        assert sentences("\n  ".join(lines) if lines[0] == "timeout" else "\n".join(lines)) == lines


def test_an_abbreviation_before_a_blank_line_ends_the_sentence() -> None:
    assert sentences("made by Acme Inc.\n\nPrices rose.") == ["made by Acme Inc.", "Prices rose."]


@given(st.text(alphabet="aA1 .!?\n\"'()。-…é", max_size=200) | st.text(max_size=100))
def test_spans_are_exact_ordered_and_lose_nothing(text: str) -> None:
    spans = sentence_spans(text)
    inside = "".join(text[start:end] for start, end in spans)
    assert "".join(inside.split()) == "".join(text.split())
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
