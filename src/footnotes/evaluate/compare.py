"""Compares two runs over the same questions: is B better than A, or was it luck?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The change from A to B. `low` and `high` bound the difference with 95% confidence.

    `luck` is the two-sided p-value: how often a difference this large would occur if there were none.
    """

    before: float
    after: float
    difference: float
    low: float
    high: float
    luck: float
    wins: int
    losses: int
    ties: int

    @property
    def verdict(self) -> str:
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no clear difference"


def compare(before: Sequence[float], after: Sequence[float]) -> Comparison:
    """Run the paired bootstrap over questions (Efron and Tibshirani 1993; Sakai, SIGIR 2006).

    The seed is fixed, so the same figures always give the same verdict.
    """
    if len(before) != len(after) or not before:
        raise ValueError("both runs must have answered the same questions")
    differences = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    means = _resampled_means(differences, RESAMPLES)
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(differences.mean())
    # shifted to no difference: how often does chance alone reach the observed difference?
    luck = float((np.abs(means - mean) >= abs(mean)).mean()) if differences.any() else 1.0
    return Comparison(
        before=float(np.mean(before)),
        after=float(np.mean(after)),
        difference=mean,
        low=float(low),
        high=float(high),
        luck=luck,
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
    )


def _resampled_means(
    differences: np.ndarray[tuple[int, ...], np.dtype[np.float64]], resamples: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    generator = np.random.default_rng(20240607)
    means = np.empty(resamples)
    for start in range(0, resamples, 500):  # in slices, so that many questions need little memory
        count = min(500, resamples - start)
        samples = generator.integers(0, len(differences), size=(count, len(differences)))
        means[start : start + count] = differences[samples].mean(axis=1)
    return means
