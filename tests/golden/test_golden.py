"""The repository's own golden set, through the whole engine with its default settings and the real model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.evaluate.golden import Question, read_golden
from footnotes.evaluate.run import Options, evaluate
from footnotes.library import Library
from footnotes.settings import Settings

HERE = Path(__file__).parent
QUESTIONS = read_golden(HERE / "questions.jsonl")
ANSWERABLE = [question for question in QUESTIONS if question.answerable]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("golden")
    with Library(folder, settings=Settings(library=str(folder))) as opened:
        added = opened.add(HERE / "documents")
        assert all(each.status == "ready" for each in added)
        opened.settle()
        yield opened


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question.id)
def test_expected_documents_are_among_the_first_three(library: Library, question: Question) -> None:
    found = [hit.filename for hit in library.search(question.text, limit=3).hits]
    assert set(question.documents) <= set(found)


@pytest.mark.parametrize("question", [each for each in QUESTIONS if not each.answerable], ids=lambda each: each.id)
def test_nothing_is_answered_that_no_document_says(library: Library, question: Question) -> None:
    assert library.ask(question.text).abstained


def test_each_leg_is_needed(library: Library) -> None:
    """What only words can find, meaning misses, and the other way round; together they find both."""
    exact = [question for question in ANSWERABLE if question.id.startswith("lexical")]
    meant = [question for question in ANSWERABLE if question.id.startswith("dense")]
    words, meaning = Options(mode="lexical"), Options(mode="dense")
    assert _first(library, exact, words) > _first(library, exact, meaning)
    assert _first(library, meant, meaning) > _first(library, meant, words)
    for questions in (exact, meant):
        assert _first(library, questions, Options()) >= 0.9


def test_passages_are_found_exactly(library: Library) -> None:
    run = evaluate(library, [question for question in ANSWERABLE if question.passages])
    assert run.means["span_recall@5"] > 0.9


def _first(library: Library, questions: list[Question], options: Options) -> float:
    return evaluate(library, questions, options=options).means["mrr@10"]
