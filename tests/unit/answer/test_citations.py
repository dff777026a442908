"""Footnotes that hold, whatever the model wrote."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.answer.citations import Cited, cite
from footnotes.answer.extractive import ABSTENTION
from footnotes.answer.passages import passages_of
from footnotes.testing.hits import make_hit

HANDBOOK = (
    "Either side may end the contract in writing. The notice period is three months to the end of a quarter. "
    "During probation it is two weeks. Staff have 28 days of paid holiday a year."
)
CANTEEN = "The canteen opens at noon. The cook is Maria Rossi. She came from Bologna in 2011. Lunch costs four euros."
SOURCES = {"handbook.md": HANDBOOK, "canteen.txt": CANTEEN}


def cited(text: str, *, strict: bool = False) -> Cited:
    hits = [make_hit(source, document=name) for name, source in SOURCES.items()]
    result = cite(text, passages_of(hits), strict=strict)
    for citation in result.citations:
        assert citation.quote == SOURCES[citation.document_id][citation.start : citation.end]
        start, end = citation.answer_span
        assert result.text[start:end].strip()
    for start, end in result.unsupported:
        assert result.text[start:end].strip()
    return result


def test_a_sentence_gets_the_span_of_the_sentence_that_supports_it() -> None:
    result = cited("The notice period is three months [1].")
    (citation,) = result.citations
    assert result.text == "The notice period is three months."
    assert citation.quote.startswith("The notice period is three months")
    assert "probation" not in citation.quote
    assert citation.support == 1.0 and citation.marker == 1


@pytest.mark.parametrize("marker", ["", " [2]", " [99]", " 【7†x】", " [chunk-f00ba7]", " (source 5)", " [1][2][3]"])
def test_the_footnote_is_the_same_whatever_the_model_cites(marker: str) -> None:
    result = cited(f"Staff have 28 days of paid holiday a year{marker}.")
    assert [citation.document_id for citation in result.citations] == ["handbook.md"]
    assert result.text == "Staff have 28 days of paid holiday a year."


def test_two_hundred_wrong_citations_leave_none_standing() -> None:
    wrong = random.Random(3)
    claims = ["The moon is made of cheese", "Profits rose by {n} percent", "Clause {n} was repealed in Geneva"]
    text = " ".join(f"{wrong.choice(claims).format(n=n)} [{wrong.randint(1, 400)}]." for n in range(200))
    result = cited(text)
    assert not result.citations and len(result.unsupported) == 200
    assert cited(text, strict=True).abstained and cited(text, strict=True).text == ABSTENTION
    mixed = cited(text + " Lunch costs four euros [12].")
    assert len(mixed.citations) == 1 and len(mixed.unsupported) == 200
    assert "[" not in mixed.text


@pytest.mark.parametrize(
    "claim",
    [
        "The notice period is six months to the end of a quarter.",
        "The notice period is not three months to the end of a quarter.",
        "The cook is Maria Bianchi.",
        "Staff have 30 days of paid holiday a year.",
        "She came from Naples in 2011.",
    ],
)
def test_a_changed_number_name_or_negation_is_flagged(claim: str) -> None:
    result = cited("Lunch costs four euros. " + claim)
    assert len(result.citations) == 1
    assert [result.text[start:end] for start, end in result.unsupported] == [claim]


@pytest.mark.parametrize(
    "source",
    [
        "Nobody believes that the moon is made of green cheese.",
        "It is not true that the moon is made of green cheese.",
    ],
)
def test_words_that_are_denied_where_they_stand_support_nothing(source: str) -> None:
    passages = passages_of([make_hit(source)])
    assert not cite("The moon is made of green cheese.", passages).citations
    assert not cite("the moon is made of green cheese", passages).citations
    assert cite(source, passages).citations


def test_words_are_found_across_lines_and_whole() -> None:
    source = "First line.\n\n  “The notice\n period  is three\tmonths”, it says. The end."
    (citation,) = cite("The notice period is three months", passages_of([make_hit(source)])).citations
    assert citation.quote == source[citation.start : citation.end]
    assert citation.quote.startswith("“The notice") and citation.quote.endswith("it says.")


def test_strict_removes_what_is_not_supported() -> None:
    result = cited("Lunch costs four euros. It is delicious caviar. The canteen opens at noon.", strict=True)
    assert result.text == "Lunch costs four euros. The canteen opens at noon."
    assert result.unsupported == () and len(result.citations) == 2


def test_nothing_supported_is_marked_and_under_strict_an_abstention() -> None:
    result = cited("The documents are about whales.", strict=True)
    assert (result.text, result.citations, result.unsupported) == (ABSTENTION, (), ())
    result = cited("The documents are about whales.")
    assert (result.citations, result.unsupported, result.abstained) == ((), ((0, 31),), False)
    assert cited("").abstained


def test_of_a_short_sentence_more_must_be_found() -> None:
    assert cited("The canteen opens at noon. The canteen opens for guests.").unsupported == ((27, 56),)


def test_a_name_from_the_sentence_before_widens_the_span() -> None:
    (citation,) = cited("Maria Rossi came from Bologna in 2011.").citations
    assert citation.quote == "The cook is Maria Rossi. She came from Bologna in 2011."


def test_clauses_may_have_a_footnote_each() -> None:
    result = cited("Staff have 28 days of paid holiday a year, and lunch costs four euros.")
    assert [citation.document_id for citation in result.citations] == ["handbook.md", "canteen.txt"]
    assert result.unsupported == ()


def test_the_same_span_is_the_same_footnote() -> None:
    result = cited("Lunch costs four euros. The price: lunch costs four euros.")
    assert [citation.marker for citation in result.citations] == [1, 1]


def test_lists_and_line_breaks_survive() -> None:
    result = cited("Known facts:\n\n- Lunch costs four euros [2]\n- The canteen opens at noon [2]\n")
    assert result.text == "Known facts:\n\n- Lunch costs four euros\n- The canteen opens at noon"
    assert len(result.citations) == 2


def test_a_short_answer_is_read_together_with_the_question() -> None:
    passages = passages_of([make_hit(source, document=name) for name, source in SOURCES.items()])
    (citation,) = cite("Three months.", passages, question="How long is the notice period?").citations
    assert citation.quote.startswith("The notice period is three months")
    (citation,) = cite("Noon.", passages, question="When does the canteen open?").citations
    assert citation.quote == "The canteen opens at noon."
    for empty in ("It is about the canteen.", "Yes.", "No.", "Bologna."):
        assert cite(empty, passages, question="How long is the notice period?", strict=True).abstained
        assert cite(empty, passages, question="How long is the notice period?").unsupported


@given(st.text(max_size=300))
def test_any_text_gives_only_footnotes_that_hold(text: str) -> None:
    footnotes = cited(text).citations
    assert {citation.document_id for citation in footnotes} <= set(SOURCES)
    assert not cited(text + " Lunch costs four euros [1].", strict=True).unsupported


@given(st.lists(st.sampled_from(HANDBOOK.split() + CANTEEN.split() + ["[1]", "[77]", "not", "1999"]), max_size=60))
def test_any_mix_of_the_documents_words_gives_only_footnotes_that_hold(words: list[str]) -> None:
    result = cited(" ".join(words))
    assert result.abstained or result.citations or result.unsupported
