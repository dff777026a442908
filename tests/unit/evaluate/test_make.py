from __future__ import annotations

from footnotes.engine import Library
from footnotes.evaluate.make import make_golden
from footnotes.evaluate.run import evaluate
from golden_sample import DOCUMENTS


def test_questions_are_spread_over_documents_and_name_their_sentence(library: Library) -> None:
    made = make_golden(library, 4)
    assert len(made) == 4
    assert {name for question in made[:3] for name in question.documents} == set(DOCUMENTS)
    for question in made:
        (name,) = question.documents
        assert question.passages[0] in DOCUMENTS[name]
    assert len({question.text for question in made}) == 4


def test_what_is_made_can_be_evaluated(library: Library) -> None:
    assert evaluate(library, make_golden(library, 3)).means["recall@5"] == 1


def test_there_are_no_more_questions_than_sentences(library: Library) -> None:
    assert 3 <= len(make_golden(library, 500)) < 10


def test_a_chat_model_writes_them_when_there_is_one(library: Library) -> None:
    asked: list[str] = []

    def say(system: str, user: str) -> str:
        asked.append(user)
        return '"What is it?"\nSome more.' if "rent" in user else "I cannot do that."

    made = make_golden(library, 10, say=say)
    assert asked
    assert {question.text for question in made} == {"What is it?"}
    assert {name for question in made for name in question.documents} == {"lease.md"}
