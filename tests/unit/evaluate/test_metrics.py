"""Rankings are checked against ir-measures (trec_eval); spans against figures worked out by hand."""

from __future__ import annotations

import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from footnotes.evaluate import metrics

DOCUMENTS = [f"d{number}" for number in range(30)]


def reference(ranking: list[str], judged: dict[str, int]) -> dict[str, float]:
    measures = [nDCG @ 10, R @ 5, P @ 5, RR, AP]
    qrels = [ir_measures.Qrel("q", name, grade) for name, grade in judged.items()]
    run = [ir_measures.ScoredDoc("q", name, -float(rank)) for rank, name in enumerate(ranking)]
    return {str(measure): value for measure, value in ir_measures.calc_aggregate(measures, qrels, run).items()}


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_trec_eval(seed: int) -> None:
    chance = random.Random(seed)
    ranking = chance.sample(DOCUMENTS, 20)
    judged = {name: chance.choice([0, 1, 1, 2, 3]) for name in chance.sample(DOCUMENTS, 8)}
    judged[DOCUMENTS[seed]] = 1
    expected = reference(ranking, judged)
    assert metrics.ndcg_at(ranking, judged, 10) == pytest.approx(expected["nDCG@10"])
    assert metrics.recall_at(ranking, judged, 5) == pytest.approx(expected["R@5"])
    assert metrics.precision_at(ranking, judged, 5) == pytest.approx(expected["P@5"])
    assert metrics.reciprocal_rank(ranking, judged) == pytest.approx(expected["RR"])
    assert metrics.average_precision(ranking, judged) == pytest.approx(expected["AP"])


def test_nothing_relevant_or_nothing_found_is_zero() -> None:
    for judged in ({}, {"a": 0}):
        assert metrics.ndcg_at(["a"], judged, 10) == 0
        assert metrics.recall_at(["a"], judged, 10) == 0
        assert metrics.average_precision(["a"], judged) == 0
    assert metrics.ndcg_at([], {"a": 1}, 10) == 0
    assert metrics.reciprocal_rank([], {"a": 1}) == 0


REFERENCES = [("a", 10, 20), ("a", 40, 60), ("b", 0, 10)]


def test_spans_by_hand() -> None:
    retrieved = [("a", 0, 15), ("a", 50, 100), ("c", 0, 35)]
    # Found: a 10-15 and 50-60, that is 15 of 40 characters, out of 100 retrieved.
    assert metrics.span_recall(retrieved, REFERENCES) == pytest.approx(15 / 40)
    assert metrics.span_precision(retrieved, REFERENCES) == pytest.approx(15 / 100)
    assert metrics.span_iou(retrieved, REFERENCES) == pytest.approx(15 / 125)


def test_overlapping_hits_find_once_and_cost_twice() -> None:
    retrieved = [("a", 10, 20), ("a", 10, 20)]
    assert metrics.span_recall(retrieved, REFERENCES) == pytest.approx(10 / 40)
    assert metrics.span_precision(retrieved, REFERENCES) == pytest.approx(10 / 20)


def test_exact_spans_are_perfect() -> None:
    assert metrics.span_recall(REFERENCES, REFERENCES) == 1
    assert metrics.span_iou(REFERENCES, REFERENCES) == 1
    assert metrics.span_iou([], REFERENCES) == metrics.span_precision([], REFERENCES) == 0


spans = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.integers(1, 30)), max_size=6)


@given(spans, spans)
def test_spans_agree_with_counting_characters(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    retrieved = [(name, start, start + length) for name, start, length in first]
    references = [(name, start, start + length) for name, start, length in second]
    given_characters = {(name, at) for name, start, end in retrieved for at in range(start, end)}
    wanted = {(name, at) for name, start, end in references for at in range(start, end)}
    expected = len(given_characters & wanted) / len(wanted) if wanted else 0
    assert metrics.span_recall(retrieved, references) == pytest.approx(expected)
    assert 0 <= metrics.span_iou(retrieved, references) <= 1


def test_answers_are_compared_by_stemmed_words() -> None:
    assert metrics.answer_overlap("Three months", "three month") == 1
    assert metrics.answer_overlap("Three months of notice", "three months") == pytest.approx(4 / 6)
    assert metrics.answer_overlap("cats", "dogs") == metrics.answer_overlap("", "dogs") == 0


def test_citations_count_when_they_touch() -> None:
    assert metrics.citation_precision([("a", 15, 30), ("a", 20, 40)], REFERENCES) == 0.5
    assert metrics.citation_precision([], REFERENCES) == 0
