"""Fuses two rankings into one. Pure functions over the scores of both legs for the same candidates.

Every function takes `Candidates` and returns one score per candidate, in their order; higher is better. A leg that
did not run is None; then the other one decides alone.
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
NEIGHBOURS, OWN_WEIGHT = 10, 0.1


@dataclass(frozen=True, slots=True)
class Candidates:
    """The scores of both legs for every chunk that either of them listed.

    `lexical` is the exact BM25 score of every candidate (0 if it shares no term with the question) and `dense` its
    exact cosine, also for candidates that the leg did not list. Ranks count from 1; 0 means not listed. `lexical_bound`
    is the highest possible BM25 score for this question: Σ idf · (k1 + 1) over its terms, counting repeated terms each
    time and skipping terms that no document has. `words` is the number of these terms, `asked` the number of all terms,
    and `chunks` the number of chunks behind the idf. `vectors` are the candidates' unit vectors, a row each, if
    available. `background` is the cosine that their model gives to unrelated texts, and `least_weight` the least weight
    of the lexical leg.
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
    """Reciprocal rank fusion: Σ weight / (k + rank) over the legs; `weights` are lexical, then dense.

    A leg adds nothing to a candidate that it did not list, or as much as at `missing_rank` if that is set.
    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009. Uses only ranks.
    """
    absent = 1 / (k + missing_rank) if missing_rank else 0.0
    legs = zip((candidates.lexical_ranks, candidates.dense_ranks), weights, strict=True)
    shares = [weight * np.where(ranks > 0, 1 / (k + ranks), absent) for ranks, weight in legs if ranks is not None]
    return _sum(shares)


def alpha_blend(candidates: Candidates, *, alpha: float = 0.7) -> Floats:
    """(1 - alpha) · BM25 / its upper bound + alpha · cosine.

    The convex combination of Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval",
    TOIS 2023, with the theoretical minimum 0 and the theoretical maximum of BM25 instead of the observed ones:
    if a question's words hardly occur anywhere, its lexical leg then has little weight.
    """
    lexical, dense = share_of_bound(candidates), candidates.dense
    if lexical is None or dense is None:
        return _sum([scores for scores in (lexical, dense) if scores is not None])
    blended: Floats = (1 - alpha) * lexical + alpha * dense
    return blended


def adaptive(candidates: Candidates) -> Floats:
    """The default: weight words by how much the question says and how poorly vectors discriminate; then smooth.

    cosine + weight · BM25 / its upper bound, smoothed over neighbours; a dense leg alone is smoothed as well. One
    setting for every collection tried: see docs/evaluation.md.
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
    """Return the weight of the lexical leg, from how much the question says.

    It sums the idf of the question's words, in units of a word that only one chunk has. By chance, a text shares one or
    two common words with a question, but hardly four rare ones. So the dense leg decides a question of few common
    words, and the lexical leg a long one, or one whose words are rare on average: a name or a part number. If most
    words occur nowhere, as in a question in another language, the others say little, and the weight drops.
    """
    rarest = math.log(1 + (candidates.chunks - 0.5) / 1.5) if candidates.chunks > 1 else 1.0
    said = candidates.lexical_bound / ((K1 + 1) * rarest)
    rarity = said / candidates.words if candidates.words else 0.0
    weight = min(max(WEIGHT_A_WORD * said, WEIGHT_OF_RARITY * rarity, candidates.least_weight), MOST_WORD_WEIGHT)
    return weight * min(1.0, candidates.words / candidates.asked) if candidates.asked else weight


def alikeness(candidates: Candidates) -> float:
    """Return the mean cosine of all pairs of candidates above the background, or 0 without vectors.

    A model places all texts in a language it was not trained on close together: MiniLM English ones at 0.1 to 0.5,
    Chinese ones at 0.64 and Arabic ones at 0.84. Its cosines then say hardly anything.
    """
    vectors = candidates.vectors
    if vectors is None or len(vectors) < 2:
        return 0.0
    count = len(vectors)
    together = float(np.square(vectors.sum(axis=0, dtype=np.float64)).sum())
    return above(candidates.background, (together - count) / (count * (count - 1)))


def smoothed(scores: Floats, vectors: NDArray[np.float32], *, background: float = 0.0) -> Floats:
    """Average each score with those of the best candidates near it.

    Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005: texts that say nearly the same should score nearly the
    same. Nearness is the cosine to the fourth power, so only close neighbours count, and a text without neighbours
    keeps its score.
    """
    best = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
    cosines = np.maximum(above(background, vectors @ vectors[best].T), 0.0)
    nearness = np.square(np.square(cosines, dtype=np.float64))  # the fourth power, which `**` takes twice as long for
    nearness[best, np.arange(len(best))] = 0.0
    near = (nearness @ scores[best] + OWN_WEIGHT * scores) / (nearness.sum(axis=1) + OWN_WEIGHT)
    mixed: Floats = (scores + near) / 2
    return mixed


def above(background: float, cosines: Cosines) -> Cosines:
    """Rescale cosines so that unrelated texts are at 0."""
    return (cosines - background) / (1 - background) if background else cosines


def share_of_bound(candidates: Candidates) -> Floats | None:
    """Return BM25 as a share of its upper bound, between 0 and 1."""
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
