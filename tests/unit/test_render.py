"""Answers as plain text."""

from __future__ import annotations

from footnotes.render import answer_as_text, shortened
from footnotes.types import Answer, Citation, Leg, Usage


def make_answer(text: str, *citations: Citation, **changes: object) -> Answer:
    fields: dict[str, object] = {
        "question": "How long is the notice period?",
        "answer": text,
        "abstained": not citations,
        "citations": citations,
        "hits": (),
        "model": "extractive",
        "usage": Usage(),
        "steps": (),
        "legs": {},
        "degraded": False,
    }
    return Answer(**(fields | changes))  # type: ignore[arg-type]


def cite(marker: int, span: tuple[int, int], quote: str, page: int | None = None) -> Citation:
    return Citation(marker, span, "d1", "handbook.pdf", page, 10, 10 + len(quote), quote)


def test_each_supported_sentence_has_its_marker_and_the_footnotes_stand_below() -> None:
    text = "It is three months. It starts on the first."
    answer = make_answer(
        text, cite(1, (0, 19), "It is\nthree months.", 4), cite(2, (20, 43), "It starts on the first.")
    )
    assert str(answer) == (
        "It is three months. [1] It starts on the first. [2]\n\n"
        "[1] handbook.pdf, p. 4: “It is three months.”\n"
        "[2] handbook.pdf: “It starts on the first.”"
    )


def test_sentences_that_share_a_footnote_list_it_once() -> None:
    answer = make_answer("One. Two.", cite(1, (0, 4), "Both."), cite(1, (5, 9), "Both."))
    assert answer_as_text(answer) == "One. [1] Two. [1]\n\n[1] handbook.pdf: “Both.”"


def test_one_sentence_may_carry_two_footnotes() -> None:
    answer = make_answer("One.", cite(1, (0, 4), "First."), cite(2, (0, 4), "Second."))
    assert answer_as_text(answer).startswith("One. [1][2]\n")


def test_abstention_is_the_sentence_alone() -> None:
    assert answer_as_text(make_answer("Nothing answers this.")) == "Nothing answers this."


def test_unsupported_incomplete_and_degraded_are_said() -> None:
    answer = make_answer(
        "True. Invented.",
        cite(1, (0, 5), "True."),
        unsupported=((6, 15),),
        incomplete=True,
        degraded=True,
        legs={"lexical": Leg("ok"), "dense": Leg("failed", "the model file is damaged")},
    )
    shown = answer_as_text(answer)
    assert "True. [1] Invented. [?]" in shown
    assert "[?] Nothing in the documents supports this." in shown
    assert "broke off" in shown
    assert "degraded (dense failed: the model file is damaged)" in shown
    assert "lexical" not in shown


def test_quotes_are_cut_at_a_word_and_control_characters_never_reach_the_terminal() -> None:
    assert shortened("word " * 100, 23) == "word word word word…"
    assert len(shortened("x" * 500, 50)) == 50
    answer = make_answer("A\x9b.", cite(1, (0, 3), "red \x1b[31malert\x07"))
    assert not any(char in answer_as_text(answer) for char in "\x1b\x07\x9b")
