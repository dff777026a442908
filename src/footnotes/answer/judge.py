"""Estimates how likely evidence supports a claim, from the verifier's verdict and shared words.

A logistic model over four figures, fitted on held-out pairs of AttributionBench, WiCE, SciFact and BEGIN by
`training/measure.py --fit`; words show what the verifier, which reads only the nearest sentences, does not see.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = re.compile(r"\w+")
_LEAST = 0.005


@dataclass(frozen=True, slots=True)
class Figures:
    """The support for a claim, each from 0 to 1: the verifier, the words in all of the evidence, in its best sentence,
    and the neighbouring words of the claim that are neighbours there."""

    verifier: float
    covered: float
    sentence: float
    pairs: float

    @property
    def row(self) -> tuple[float, float, float, float]:
        chance = min(max(self.verifier, _LEAST), 1 - _LEAST)
        return math.log(chance / (1 - chance)), self.covered, self.sentence, self.pairs


BIAS, WEIGHTS = -1.68, (0.78, 1.83, 0.22, 1.02)


def likelihood(figures: Figures) -> float:
    """Return how likely the claim is supported."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, figures.row, strict=True))
    return 1.0 / (1.0 + math.exp(-total))


def figures_of(
    claim: str, evidence: str, weights: Mapping[str, float], sentences: Sequence[frozenset[str]], verifier: float
) -> Figures:
    """Compute the figures of a claim with these weighted terms, against evidence whose sentences have these terms."""
    total = sum(weights.values()) or 1.0
    held = [sum(weight for term, weight in weights.items() if term in terms) / total for terms in sentences]
    every = frozenset().union(*sentences)
    covered = sum(weight for term, weight in weights.items() if term in every) / total
    said, there = _WORD.findall(claim.lower()), _WORD.findall(evidence.lower())
    here = set(pairwise(there))
    neighbours = list(pairwise(said))
    pairs = sum(pair in here for pair in neighbours) / max(1, len(neighbours))
    return Figures(verifier, covered, max(held, default=0.0), pairs)
