from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footnotes.errors import GoldenError
from footnotes.evaluate.golden import Question
from footnotes.evaluate.run import Options, evaluate, load_run, save_run
from footnotes.library import Library
from golden_sample import QUESTIONS


def test_every_kind_of_expectation_is_measured(library: Library) -> None:
    run = evaluate(library, QUESTIONS)
    rent, code, bees, nobody = run.outcomes
    assert rent.measures["ndcg@10"] == 1
    assert rent.measures["span_recall@5"] == 1
    assert code.measures["span_recall@5"] > 0.9
    assert bees.measures["recall@10"] == 0.5
    assert nobody.measures == {}
    assert run.means["mrr@10"] == 1
    assert len(run.values("span_iou@5")) == 2


def test_the_leg_that_found_it_is_said(library: Library) -> None:
    assert evaluate(library, QUESTIONS[:1], options=Options(mode="lexical")).outcomes[0].found_by == "lexical"
    assert evaluate(library, QUESTIONS[:1]).outcomes[0].found_by == "both"
    unknown = Question("5", "rent", {"nowhere.md": 1})
    assert evaluate(library, [unknown]).outcomes[0].found_by == "neither"


def test_answers_are_judged_when_asked_for(library: Library) -> None:
    run = evaluate(library, QUESTIONS, options=Options(answers=True))
    rent, *_, nobody = run.outcomes
    assert rent.measures["abstention"] == 1
    assert rent.measures["answer_overlap"] > 0
    assert rent.measures["citation_precision"] == 1
    assert nobody.measures["abstention"] == 1


def test_progress_is_told(library: Library) -> None:
    said: list[tuple[int, int]] = []
    evaluate(library, QUESTIONS, on_progress=lambda done, total: said.append((done, total)))
    assert said == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_passages_are_found_whatever_their_white_space_or_named(library: Library) -> None:
    loose = replace(QUESTIONS[0], passages=("Notice must\n  be given in  writing",))
    assert evaluate(library, [loose]).means["span_recall@5"] == 1
    with pytest.raises(GoldenError, match="is in no document"):
        evaluate(library, [replace(QUESTIONS[0], passages=("never said",))])


def test_questions_without_expectations_cannot_be_evaluated(library: Library) -> None:
    with pytest.raises(GoldenError, match="expected results"):
        evaluate(library, [Question("1", "anything")])


def test_a_saved_run_is_read_again(library: Library, tmp_path: Path) -> None:
    run = evaluate(library, QUESTIONS, name="first")
    save_run(tmp_path / "run.json", run)
    assert load_run(tmp_path / "run.json") == run


@pytest.mark.parametrize("content", ["", "{}", '{"version": 99}', '{"version": 1, "outcomes": [3]}'])
def test_what_is_not_a_saved_run_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(GoldenError):
        load_run(tmp_path / "run.json")
