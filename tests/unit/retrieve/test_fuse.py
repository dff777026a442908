from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.retrieve.fuse import (
    LEAST_WORD_WEIGHT,
    MOST_WORD_WEIGHT,
    Candidates,
    adaptive,
    alikeness,
    alpha_blend,
    rrf,
    share_of_bound,
    smoothed,
    word_weight,
)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def ranks(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


BOTH = Candidates(
    lexical=floats(8.0, 0.0, 4.0),
    dense=floats(0.2, 0.9, 0.5),
    lexical_ranks=ranks(1, 0, 2),
    dense_ranks=ranks(0, 1, 2),
    lexical_bound=16.0,
    chunks=1000,
)


def test_rrf_by_hand() -> None:
    assert rrf(BOTH) == pytest.approx([1 / 61, 1 / 61, 2 / 62])
    assert rrf(BOTH, k=1, weights=(2.0, 1.0)) == pytest.approx([2 / 2, 1 / 2, 3 / 3])
    assert rrf(BOTH, weights=(0.5, 0.5)) == pytest.approx([0.5 / 61, 0.5 / 61, 1 / 62])
    missing = rrf(BOTH, missing_rank=100)
    assert missing == pytest.approx([1 / 61 + 1 / 160, 1 / 61 + 1 / 160, 2 / 62]), "as if it stood at that rank"


def test_alpha_by_hand() -> None:
    assert alpha_blend(BOTH, alpha=0.5) == pytest.approx([0.35, 0.45, 0.375])
    assert alpha_blend(BOTH, alpha=1.0) == pytest.approx(BOTH.dense)
    assert alpha_blend(BOTH, alpha=0.0) == pytest.approx(share_of_bound(BOTH))


@pytest.mark.parametrize("fuse", [rrf, alpha_blend, adaptive])
def test_one_leg_decides_alone_when_the_other_did_not_run(fuse: object) -> None:
    lexical = Candidates(lexical=BOTH.lexical, dense=None, lexical_ranks=ranks(1, 0, 2), lexical_bound=16.0)
    dense = Candidates(lexical=None, dense=BOTH.dense, dense_ranks=ranks(3, 1, 2))
    assert np.argsort(-fuse(lexical)).tolist()[:2] == [0, 2]  # type: ignore[operator]
    assert np.argsort(-fuse(dense)).tolist() == [1, 2, 0]  # type: ignore[operator]


def test_no_leg_and_no_candidates() -> None:
    assert len(adaptive(Candidates(None, None))) == 0
    empty = Candidates(floats(), floats(), ranks(), ranks(), 3.0, 10, np.zeros((0, 4), dtype=np.float32))
    assert len(adaptive(empty)) == len(rrf(empty)) == 0


def test_a_question_whose_words_nobody_has_gives_its_words_no_share() -> None:
    nothing = Candidates(lexical=floats(0.0, 0.0), dense=floats(0.1, 0.3), lexical_bound=0.0)
    assert share_of_bound(nothing) == pytest.approx([0, 0])
    assert np.argmax(adaptive(nothing)) == 1


def weight(rare_words: float, chunks: int, *, words: float = 0.0) -> float:
    bound = rare_words * 2.2 * math.log(1 + (chunks - 0.5) / 1.5)
    return word_weight(Candidates(floats(1.0), floats(1.0), lexical_bound=bound, chunks=chunks, words=words))


def test_words_count_more_the_more_the_question_says_within_bounds() -> None:
    assert weight(0.5, 5000) == LEAST_WORD_WEIGHT
    assert weight(3, 5000) == pytest.approx(0.81)
    assert weight(30, 5000) == MOST_WORD_WEIGHT


def test_one_rare_word_counts_more_than_as_much_said_in_common_ones() -> None:
    assert weight(1, 5000, words=1) == pytest.approx(0.8)
    assert weight(1, 5000, words=4) == LEAST_WORD_WEIGHT


def test_the_weight_does_not_depend_on_the_size_of_the_library() -> None:
    assert weight(3, 100) == pytest.approx(weight(3, 1_000_000))
    assert LEAST_WORD_WEIGHT <= weight(3, 1) <= MOST_WORD_WEIGHT


def unit(*rows: tuple[float, ...]) -> np.ndarray:
    matrix = np.array(rows, dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_alikeness_is_the_mean_cosine_of_all_pairs() -> None:
    vectors = unit((1, 0, 0), (0, 1, 0), (1, 1, 0))
    expected = (0 + 2 * math.sqrt(0.5)) / 3
    assert alikeness(Candidates(None, None, vectors=vectors)) == pytest.approx(expected)
    assert alikeness(Candidates(None, None, vectors=vectors[:1])) == alikeness(Candidates(None, None)) == 0


def test_words_decide_where_all_vectors_are_alike() -> None:
    """As in a language the model was never taught: its favourite is as near as any other text."""
    apart, alike = unit((1, 0, 0), (0, 1, 0)), unit((1, 0.1, 0), (1, 0, 0.1))
    scores = {"lexical": floats(4.0, 8.0), "dense": floats(0.9, 0.5), "lexical_bound": 16.0, "chunks": 1000}
    assert np.argmax(adaptive(Candidates(**scores, vectors=apart))) == 0
    assert np.argmax(adaptive(Candidates(**scores, vectors=alike))) == 1


def test_a_model_that_puts_everything_near_is_weighed_as_one_that_does_not() -> None:
    """bge gives texts that have nothing in common a cosine of 0.45: only what is above it says anything."""
    background = 0.45
    plain = {"lexical": floats(4.0, 8.0, 1.0), "lexical_bound": 16.0, "chunks": 1000, "words": 4}
    cosines = floats(0.8, 0.5, 0.2)
    lifted = background + (1 - background) * cosines
    expected = adaptive(Candidates(**plain, dense=cosines))
    assert adaptive(Candidates(**plain, dense=lifted, background=background)) == pytest.approx(expected)
    assert np.argmax(expected) == 0

    vectors = unit((1, 0, 0), (0, 1, 0), (1, 1, 0))
    as_it_is = alikeness(Candidates(None, None, vectors=vectors))
    above_it = alikeness(Candidates(None, None, vectors=vectors, background=background))
    assert above_it == pytest.approx((as_it_is - background) / (1 - background))


def test_words_count_less_where_most_of_them_stand_nowhere() -> None:
    """A German question over English texts shares a name or two with them, and many a text has that name."""
    known = {"lexical": floats(8.0, 1.0), "dense": floats(0.3, 0.5), "lexical_bound": 8.0, "chunks": 1000, "words": 2}
    assert np.argmax(adaptive(Candidates(**known, asked=2))) == 0
    assert np.argmax(adaptive(Candidates(**known, asked=16))) == 1
    assert adaptive(Candidates(**known)) == pytest.approx(adaptive(Candidates(**known, asked=2)))


def test_a_dense_leg_alone_is_smoothed_too() -> None:
    vectors = unit((1, 0, 0), (0, 1, 0.1), (0, 1, 0), (0, 1, -0.1))
    alone = Candidates(lexical=None, dense=floats(0.52, 0.5, 0.51, 0.5), vectors=vectors)
    assert adaptive(alone) == pytest.approx(smoothed(alone.dense, vectors))


def test_a_text_near_to_good_ones_rises_above_one_that_stands_alone() -> None:
    vectors = unit((1, 0, 0), (0.95, 0.2, 0), (0, 0, 1))
    before = floats(0.8, 0.5, 0.52)
    assert np.argsort(-smoothed(before, vectors)).tolist() == [0, 1, 2]


def test_texts_that_are_near_to_none_keep_their_scores() -> None:
    scores = floats(0.8, 0.5, 0.52)
    assert smoothed(scores, unit((1, 0, 0), (0, 1, 0), (0, 0, 1))) == pytest.approx(scores)


scored = st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=30)


@given(scored, st.integers(0, 2**32 - 1))
def test_smoothing_never_leaves_the_range_of_the_scores(values: list[float], seed: int) -> None:
    vectors = unit(*np.random.default_rng(seed).standard_normal((len(values), 8)).tolist())
    found = smoothed(np.array(values), vectors)
    assert min(values) - 1e-9 <= found.min()
    assert found.max() <= max(values) + 1e-9


@given(scored)
def test_more_words_in_common_never_lower_a_candidate(values: list[float]) -> None:
    lexical = np.abs(np.array(values)) * 10
    dense = np.full(len(values), 0.5)
    found = adaptive(Candidates(lexical, dense, lexical_bound=20.0, chunks=100))
    assert (np.diff(found[np.argsort(lexical)]) >= 0).all()
