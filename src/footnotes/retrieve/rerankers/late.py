"""Late interaction over the embedder's own token vectors: needs no second model.

Khattab and Zaharia, "ColBERT: Efficient and effective passage search via contextualized late interaction over
BERT", SIGIR 2020: for each token of the question the best cosine among the passage's tokens, averaged. The score
adds the cosine of the whole passage, and a fifth of its lexical score relative to the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import ConfigError, ProviderTimeout
from footnotes.remote.deadline import Deadline
from footnotes.types import Hit, Role

LEXICAL_WEIGHT = 0.2
BATCH = 8
"""Passages read between two checks of the deadline."""


class TokenVectors(Protocol):
    """`LocalEmbedder.token_vectors`."""

    def __call__(self, texts: Sequence[str], *, role: Role) -> list[NDArray[np.float32]]: ...


class LateReranker:
    """Reranks by token vectors, computed for each search."""

    def __init__(self, token_vectors: TokenVectors | None) -> None:
        if token_vectors is None:
            raise ConfigError(
                "the embedder has no vectors of single tokens, which the reranker 'late' needs",
                remedy="Use the local embedder, or another reranker.",
            )
        self._token_vectors = token_vectors

    @property
    def name(self) -> str:
        return "late"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        query = self._token_vectors([question], role="query")[0]
        similar: list[float] = []
        for start in range(0, len(hits), BATCH):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            texts = [hit.text for hit in hits[start : start + BATCH]]
            similar += [max_similarity(query, tokens) for tokens in self._token_vectors(texts, role="passage")]
        best = max((hit.scores.lexical.score for hit in hits if hit.scores.lexical), default=0.0)
        return [tokens + _whole(hit) + _lexical(hit, best) for tokens, hit in zip(similar, hits, strict=True)]


def max_similarity(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    """Return the mean over the question's tokens of the best cosine among the passage's tokens."""
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).mean())


def _whole(hit: Hit) -> float:
    return hit.scores.dense.score if hit.scores.dense else 0.0


def _lexical(hit: Hit, best: float) -> float:
    return LEXICAL_WEIGHT * hit.scores.lexical.score / best if hit.scores.lexical and best > 0 else 0.0
