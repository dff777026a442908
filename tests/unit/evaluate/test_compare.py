from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from footnotes.evaluate.compare import compare


def scores(seed: int, shift: float) -> tuple[list[float], list[float]]:
    chance = random.Random(seed)
    before = [chance.random() for _ in range(80)]
    return before, [value + shift + chance.gauss(0, 0.1) for value in before]


def test_a_clear_gain_is_called_better_and_its_reverse_worse() -> None:
    before, after = scores(1, 0.1)
    assert compare(before, after).verdict == "better"
    assert compare(after, before).verdict == "worse"


def test_noise_is_not_called_a_difference() -> None:
    before, after = scores(2, 0.0)
    found = compare(before, after)
    assert found.verdict == "no clear difference"
    assert found.low < 0 < found.high


def test_agrees_with_scipy() -> None:
    before, after = scores(3, 0.03)
    found = compare(before, after)
    differences = np.array(after) - np.array(before)
    expected = stats.bootstrap((differences,), np.mean, n_resamples=10_000, method="percentile", rng=1)
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=0.002)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=0.002)
    assert found.luck == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_wins_losses_and_ties_are_counted() -> None:
    found = compare([0, 1, 0.5, 0.5], [1, 0, 0.5, 0.6])
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)


def test_no_difference_at_all_is_luck() -> None:
    found = compare([0.5] * 5, [0.5] * 5)
    assert (found.luck, found.difference, found.verdict) == (1.0, 0.0, "no clear difference")


def test_different_questions_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="same questions"):
        compare([1.0], [1.0, 0.0])
