from __future__ import annotations

import pytest

from footnotes.evaluate.make import person_question


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The notice period is three months.", "How long is the notice period?"),
        ("The deposit is 900 euros.", "How much is the deposit?"),
        ("A generation is a set of chunks and vectors.", "What is a generation?"),
        ("Employees must report sickness within two days.", "When must employees report sickness?"),
        ("Both sides can end the lease in writing, with a notice of three months.",
         "Can both sides end the lease in writing?"),
        ("The pump is switched off because it runs dry.", "Why is the pump switched off?"),
        ("IBM was founded in 1911 in New York.", "When was IBM founded?"),
        ("It is painted green.", ""),
        ("Add water first.", ""),
    ],
)  # fmt: skip
def test_a_statement_becomes_the_question_it_answers(sentence: str, question: str) -> None:
    assert person_question(sentence, lambda word: word == "employees") == question
