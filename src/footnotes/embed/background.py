"""The cosine a model gives to unrelated texts: 0.03 for MiniLM, 0.42 for bge.

Scores of different models are comparable only above this value.
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
    """How to read a model's cosines: `background` is the cosine of unrelated texts, `gain` a factor to multiply by.

    `least_words` is the least weight of the lexical leg in prose: the higher, the less the model is trusted.
    """

    background: float = 0.0
    gain: float = 1.0
    least_words: float = 0.3


def measured_background(embedder: Embedder) -> float:
    """Return the mean cosine of unrelated passages, at least 0."""
    vectors = embed_all(embedder, _UNRELATED, role="passage", attempts=1)
    cosines = vectors @ vectors.T
    return max(0.0, float(cosines[~np.eye(len(cosines), dtype=bool)].mean()))
