"""Misspelled questions are asked in the library's own words, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.answer.asking.names import correct_spelling, distance
from footnotes.library import Library
from footnotes.settings import Settings


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("decalre", "declare", 1), ("cokie", "cookie", 1), ("paramter", "parameter", 1), ("a", "", 1)],
)
def test_slips_are_counted(one: str, other: str, slips: int) -> None:
    assert distance(one, other) == slips == distance(other, one)


def test_only_words_no_document_has_are_corrected() -> None:
    texts = ["A dependency is injected. Injection of a dependency is easy."]
    known = {"depend", "inject", "easi"}
    assert (
        correct_spelling("what is depandency injecton", texts, lambda term: float(term in known))
        == "what is dependency injection"
    )
    assert correct_spelling("is Quarkus easy", texts, lambda term: float(term in known)) == "is Quarkus easy"
    assert correct_spelling("why shouldn't it", ["it should"], lambda term: 0.0) == "why shouldn't it"


def test_a_misspelled_question_is_answered_and_says_what_was_searched_for(tmp_path: Path) -> None:
    page = tmp_path / "lease.txt"
    page.write_text("The apartment has three rooms. The monthly rent of the apartment is 900 euros.")
    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(page)
        answer = library.ask("what is the montly rent of the apartment")
    assert "900 euros" in answer.answer
    assert any(step.text == "Searched for: what is the monthly rent of the apartment" for step in answer.steps)
