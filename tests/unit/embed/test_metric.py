from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.embed.checked import embed_all, embed_one
from footnotes.embed.metric import stored_dimensions
from footnotes.errors import InvalidVector
from footnotes.types import Role

ROWS = np.random.default_rng(3).standard_normal((40, 8)).astype(np.float32)


class DotEmbedder:
    """Vectors of any length, to be compared by dot product: a long one outranks a short one in the same direction."""

    name, fingerprint, dimensions, max_tokens, metric = "dot", "dot-1", 8, 100, "dot"
    largest_norm = float(np.linalg.norm(ROWS, axis=1).max())

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        return ROWS[[int(text) for text in texts]]


def test_cosine_of_what_is_stored_ranks_as_the_dot_product_does() -> None:
    embedder = DotEmbedder()
    passages = embed_all(embedder, [str(n) for n in range(30)], role="passage")
    assert passages.shape == (30, 9) == (30, stored_dimensions(embedder))
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    for number in range(30, 40):
        query = embed_one(embedder, str(number), role="query")
        assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
        by_cosine = np.argsort(-(passages @ query))
        assert by_cosine.tolist() == np.argsort(-(ROWS[:30] @ ROWS[number])).tolist()


def test_a_vector_longer_than_promised_is_refused() -> None:
    embedder = DotEmbedder()
    embedder.largest_norm = 0.5
    with pytest.raises(InvalidVector):
        embed_all(embedder, ["0"], role="passage")
