"""How near a model puts what has nothing in common: 0.03 for MiniLM, 0.42 for bge.

Scores of different models can be weighed alike only above that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footnotes.embed import Embedder
from footnotes.embed.checked import embed_all

ON_THIS_MACHINE = frozenset(["local", "onnx", "fastembed", "sentence-transformers"])
_UNRELATED = (
    "The committee approved the budget for the next year.",
    "Water boils at a lower temperature on high mountains.",
    "She plays the violin in a small orchestra.",
    "The function returns the number of rows in the table.",
    "Tenants must give notice three months in advance.",
    "The vaccine was tested on four hundred patients.",
    "Bake the bread until its crust is brown.",
    "The bridge was built by Roman engineers.",
    "Shares of the company fell after the report.",
    "Whales sing to find each other over long distances.",
    "Reset the router and wait for the green light.",
    "The treaty ended a war of thirty years.",
)


@dataclass(frozen=True, slots=True)
class Cosines:
    """What cosines mean: how high those of unrelated texts are, and by what factor all of them are too low.

    `least_words` is what words weigh at least beside them in prose: the more, the less the model is to be trusted.
    """

    background: float = 0.0
    gain: float = 1.0
    least_words: float = 0.3


def measured_background(embedder: Embedder) -> float:
    """The mean cosine of passages that have nothing in common, at least 0."""
    vectors = embed_all(embedder, _UNRELATED, role="passage", attempts=1)
    cosines = vectors @ vectors.T
    return max(0.0, float(cosines[~np.eye(len(cosines), dtype=bool)].mean()))
