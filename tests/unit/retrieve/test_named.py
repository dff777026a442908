"""Clauses that name a document."""

from __future__ import annotations

import pytest

from footnotes.retrieve.named import Named, naming


@pytest.mark.parametrize(
    ("question", "clause", "rest"),
    [
        (
            "Consider the agreement between Mining, Inc. and Holding, Inc.; may copies be kept?",
            "the agreement between Mining, Inc. and Holding, Inc.",
            "may copies be kept?",
        ),
        ("Consider Honda's privacy policy; is data shared?", "Honda's privacy policy", "is data shared?"),
        ("In the report of May 3, 2023, who was elected?", "the report of May 3, 2023", "who was elected?"),
        ("What is the fee in the lease between Alpha and Beta?", "the lease between Alpha and Beta", "What is the fee"),
        ("According to setup.pdf, how do I begin?", "setup.pdf", "how do I begin?"),
    ],
)
def test_the_clause_and_the_rest(question: str, clause: str, rest: str) -> None:
    assert naming(question) == Named(clause, rest)


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "In Python, how do I read a file?",
        "In 1994, who won the prize?",
        "how do I open a report in the browser",
        "For Pfizer, which region had the biggest drop?",
    ],
)
def test_other_questions_name_none(question: str) -> None:
    assert naming(question) is None
