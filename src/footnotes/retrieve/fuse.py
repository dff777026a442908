"""Two rankings → one. Pure functions over what both legs know of the same candidates.

Every function takes `Candidates` and returns one score a candidate, in their order; higher is better. A leg that
did not run is None, and the other one then decides alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ranks: TypeAlias = NDArray[np.int64]
Cosines = TypeVar("Cosines", float, NDArray[np.float64], NDArray[np.float32])

RRF_K = 60
K1 = 1.2
WEIGHT_A_WORD, WEIGHT_OF_RARITY = 0.27, 0.8
LEAST_WORD_WEIGHT, MOST_WORD_WEIGHT = 0.3, 2.0
ALIKE, WEIGHT_OF_ALIKENESS = 0.55, 40.0
NEIGHBOURS, SHARPNESS, OWN_WEIGHT = 10, 4, 0.1


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the legs know of the chunks that either of them listed.

    `lexical` is the exact BM25 score of every candidate (0 where it shares no term with the question) and `dense`
    its exact cosine, also for those the leg did not list itself. Ranks count from 1; 0 means not listed.
    `lexical_bound` is the highest BM25 score any text could reach for this question: Σ idf · (k1 + 1) over its
    terms, repeated terms counted each time and terms that no document has left out; `words` is how many these are,
    of `asked` terms in all, and `chunks` how many chunks were counted for it. `vectors` are the candidates' unit
    vectors, a row each, where they are at hand; `background` is the cosine their model gives to texts that have
    nothing in common, and `least_weight` what words weigh at least beside its cosines.
    """

    lexical: Floats | None
    dense: Floats | None
    lexical_ranks: Ranks | None = None
    dense_ranks: Ranks | None = None
    lexical_bound: float = 0.0
    chunks: int = 0
    vectors: NDArray[np.float32] | None = None
    words: float = 0.0
    asked: float = 0.0
    background: float = 0.0
    least_weight: float = LEAST_WORD_WEIGHT


def rrf(
    candidates: Candidates, *, k: int = RRF_K, weights: tuple[float, float] = (1.0, 1.0), missing_rank: int = 0
) -> Floats:
    """Reciprocal rank fusion: Σ weight / (k + rank) over the legs, `weights` of the lexical and the dense one.

    A leg that did not list a candidate gives it nothing, or with `missing_rank` as much as if it stood there.
    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009. Looks at ranks alone.
    """
    absent = 1 / (k + missing_rank) if missing_rank else 0.0
    legs = zip((candidates.lexical_ranks, candidates.dense_ranks), weights, strict=True)
    shares = [weight * np.where(ranks > 0, 1 / (k + ranks), absent) for ranks, weight in legs if ranks is not None]
    return _sum(shares)


def alpha_blend(candidates: Candidates, *, alpha: float = 0.7) -> Floats:
    """(1 - alpha) · BM25 / its upper bound + alpha · cosine.

    The convex combination of Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval",
    TOIS 2023, with the theoretical minimum 0 and the theoretical maximum of BM25 in place of the observed ones:
    a question whose words are hardly met anywhere then gives its lexical leg little weight.
    """
    lexical, dense = share_of_bound(candidates), candidates.dense
    if lexical is None or dense is None:
        return _sum([scores for scores in (lexical, dense) if scores is not None])
    blended: Floats = (1 - alpha) * lexical + alpha * dense
    return blended


def adaptive(candidates: Candidates) -> Floats:
    """The default: words count the more, the more the question says and the less the vectors do; neighbours are heard.

    cosine + weight · BM25 / its upper bound, smoothed; a dense leg that stands alone is smoothed as well. One setting
    for every collection it was tried on: see docs/evaluation.md.
    """
    lexical, dense = share_of_bound(candidates), candidates.dense
    if lexical is None or dense is None:
        blended = _sum([scores for scores in (lexical, dense) if scores is not None])
    else:
        weight = word_weight(candidates) * (1 + WEIGHT_OF_ALIKENESS * max(0.0, alikeness(candidates) - ALIKE))
        blended = (above(candidates.background, dense) + weight * lexical) / (1 + weight)
    if candidates.vectors is None:
        return blended
    return smoothed(blended, candidates.vectors, background=candidates.background)


def word_weight(candidates: Candidates) -> float:
    """The weight of the lexical leg, from how much the question says.

    The idf of all its words together, counted in words that only one chunk has: by chance alone, a text shares one
    or two common words with a question, but hardly four rare ones. So a question of few common words leans on its
    meaning, a long one on its words; and so does one whose words are rare on average: a name or a part number.
    Where most of its words stand nowhere, as in a question of another language, those that do say little of it.
    """
    rarest = math.log(1 + (candidates.chunks - 0.5) / 1.5) if candidates.chunks > 1 else 1.0
    said = candidates.lexical_bound / ((K1 + 1) * rarest)
    rarity = said / candidates.words if candidates.words else 0.0
    weight = min(max(WEIGHT_A_WORD * said, WEIGHT_OF_RARITY * rarity, candidates.least_weight), MOST_WORD_WEIGHT)
    return weight * min(1.0, candidates.words / candidates.asked) if candidates.asked else weight


def alikeness(candidates: Candidates) -> float:
    """The mean cosine between any two candidates above the background, 0 where their vectors are not at hand.

    A model that was never taught a language puts all texts in it close together: MiniLM English ones at 0.1 to 0.5,
    Chinese ones at 0.64 and Arabic ones at 0.84. What it says of them is then hardly worth hearing.
    """
    vectors = candidates.vectors
    if vectors is None or len(vectors) < 2:
        return 0.0
    count = len(vectors)
    together = float(np.square(vectors.sum(axis=0, dtype=np.float64)).sum())
    return above(candidates.background, (together - count) / (count * (count - 1)))


def smoothed(scores: Floats, vectors: NDArray[np.float32], *, background: float = 0.0) -> Floats:
    """Each score averaged with those of the best candidates that are near it.

    Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005: texts that say nearly the same should score nearly the
    same. Nearness is the cosine to the fourth power, so that only close ones are heard, and a text that is near to
    none keeps its own score.
    """
    best = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
    nearness = np.maximum(above(background, vectors @ vectors[best].T), 0.0).astype(np.float64) ** SHARPNESS
    nearness[best, np.arange(len(best))] = 0.0
    near = (nearness @ scores[best] + OWN_WEIGHT * scores) / (nearness.sum(axis=1) + OWN_WEIGHT)
    mixed: Floats = (scores + near) / 2
    return mixed


def above(background: float, cosines: Cosines) -> Cosines:
    """Cosines as they would be if their model put what has nothing in common at 0."""
    return (cosines - background) / (1 - background) if background else cosines


def share_of_bound(candidates: Candidates) -> Floats | None:
    """BM25 as a share of the most that any text could reach, between 0 and 1."""
    if candidates.lexical is None:
        return None
    if candidates.lexical_bound <= 0:
        return np.zeros_like(candidates.lexical)
    share: Floats = candidates.lexical / candidates.lexical_bound
    return share


def _sum(shares: list[Floats]) -> Floats:
    if not shares:
        return np.zeros(0)
    total: Floats = np.sum(shares, axis=0)
    return total
